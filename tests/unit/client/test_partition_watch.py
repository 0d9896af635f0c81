import pytest
from support.loop import pass_time

from magnetar.client.partition_watch import PartitionWatch
from magnetar.clock import SystemClock
from magnetar.errors import NotReady, TopicNotFound
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


@pytest.fixture
def grown():
    return []


@pytest.fixture
async def partition_watch(client, grown):
    async def grow(indexes):
        grown.append(indexes)

    partition_watch = PartitionWatch(
        "persistent://public/default/t",
        2,
        grow,
        lookup=client._lookup,
        clock=SystemClock(),
        interval_s=0.01,
    )
    yield partition_watch
    await partition_watch.close()


async def test_only_new_partitions_are_told(peer, partition_watch, grown):
    peer.partitions = 2
    await partition_watch.check()
    assert grown == []
    peer.partitions = 5
    await partition_watch.check()
    await partition_watch.check()
    assert grown == [range(2, 5)]
    peer.partitions = 6
    await partition_watch.check()
    assert grown[1:] == [range(5, 6)]


async def test_it_asks_without_making_topics(peer, partition_watch):
    await partition_watch.check()
    asked = peer.of(BaseCommand.PARTITIONED_METADATA)[-1].partitionMetadata
    assert not asked.metadata_auto_creation_enabled


async def test_what_fails_is_tried_again(peer, partition_watch, grown):
    peer.partitions = 3
    original = partition_watch._grow
    failures = [NotReady("later")]

    async def grow(indexes):
        if failures:
            raise failures.pop()
        await original(indexes)

    partition_watch._grow = grow
    with pytest.raises(NotReady):
        await partition_watch.check()
    await partition_watch.check()
    assert grown == [range(2, 3)]


async def test_it_watches_until_it_is_closed(peer, partition_watch, grown):
    def gone(connection, frame):
        asked = frame.command.partitionMetadata.request_id
        connection.write(replies.partitioned_metadata_failed(asked, TopicNotFound("gone")))

    peer.script(BaseCommand.PARTITIONED_METADATA, gone)
    peer.partitions = 4
    partition_watch.start()
    await peer.saw(BaseCommand.PARTITIONED_METADATA, 3)
    await partition_watch.close()
    assert grown == [range(2, 4)]
    asked = len(peer.of(BaseCommand.PARTITIONED_METADATA))
    await pass_time(60)
    assert len(peer.of(BaseCommand.PARTITIONED_METADATA)) == asked
