"""The loop that looks for new partitions: a turn of it each time that the clock moves on."""

import asyncio

import pytest
from support.clock import ManualClock

from magnetar.client.context import watch_partitions
from magnetar.errors import NotReady, TopicNotFound
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


class Watch:
    """Watches a topic that has two partitions."""

    def __init__(self, lookup):
        self.grown = []
        self.failures = []
        self.clock = ManualClock()
        self.task = asyncio.ensure_future(
            watch_partitions(
                "persistent://public/default/t",
                2,
                self.grow,
                lookup=lookup,
                clock=self.clock,
                interval_s=60,
            )
        )

    async def grow(self, indexes):
        if self.failures:
            raise self.failures.pop()
        self.grown.append(indexes)

    async def look(self):
        await self.clock.advance(60)
        await self.clock.until_asleep()


@pytest.fixture
async def watch(lookup):
    watch = Watch(lookup)
    yield watch
    watch.task.cancel()


async def test_only_new_partitions_are_told(peer, watch):
    peer.partitions = 2
    await watch.look()
    assert watch.grown == []
    peer.partitions = 5
    await watch.look()
    await watch.look()
    assert watch.grown == [range(2, 5)]
    peer.partitions = 6
    await watch.look()
    assert watch.grown[1:] == [range(5, 6)]


async def test_it_asks_without_making_topics(peer, watch):
    await watch.look()
    asked = peer.of(BaseCommand.PARTITIONED_METADATA)[-1].partitionMetadata
    assert not asked.metadata_auto_creation_enabled


async def test_what_fails_is_tried_again(peer, watch):
    def gone(connection, frame):
        asked = frame.command.partitionMetadata.request_id
        connection.write(replies.partitioned_metadata_failed(asked, TopicNotFound("gone")))

    peer.partitions = 3
    peer.script(BaseCommand.PARTITIONED_METADATA, gone)
    watch.failures = [NotReady("later")]
    await watch.look()
    await watch.look()
    assert watch.grown == []
    await watch.look()
    assert watch.grown == [range(2, 3)]


async def test_it_ends_when_it_is_cancelled(peer, watch):
    await watch.look()
    watch.task.cancel()
    asked = len(peer.of(BaseCommand.PARTITIONED_METADATA))
    await watch.clock.advance(600)
    assert len(peer.of(BaseCommand.PARTITIONED_METADATA)) == asked
