"""Which topics are unloaded when nobody uses them, and what becomes of what they hold."""

from contextlib import asynccontextmanager

import pytest
from support.clock import ManualClock
from unit.broker.peer import TOPIC, Peer, send

from magnetar.broker.topics.settings import TopicSettings
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import LocalBroker

IDLE_S = TopicSettings().unload_idle_after_s
CHECK_S = 120
NAME = TopicName.parse(TOPIC)


class World:
    """A broker whose clock the test moves, and a client of it."""

    def __init__(self, broker: LocalBroker, clock: ManualClock, peer: Peer) -> None:
        self.broker = broker
        self.clock = clock
        self.peer = peer

    @property
    def loaded(self) -> bool:
        return NAME in self.broker.broker.registry.loaded

    async def publish(self, count: int) -> None:
        peer = await Peer.open(self.broker.port)
        await peer.produce(1)
        for number in range(count):
            peer.wire.send(send(1, number, b"x"))
            assert (await peer.hear()).HasField("send_receipt")
        peer.wire.close()

    async def subscribe(self, **values: object) -> None:
        await self.peer.consume(1, subscription="s", initialPosition=1, permits=100, **values)

    async def leave(self) -> None:
        await self.peer.ask("close_consumer", consumer_id=1, request_id=91)

    async def acknowledge(self, *numbers: int, of: int) -> None:
        """Receive so many messages and acknowledge some of them, by their order."""
        ids = [(await self.peer.hear()).message.message_id for _ in range(of)]
        await self.peer.ask(
            "ack",
            consumer_id=1,
            ack_type=0,
            message_id=[ids[number] for number in numbers],
            request_id=92,
        )

    async def wait(self, seconds: float) -> None:
        """Let time pass in steps, as the client answers PINGs with nothing but its own."""
        for _ in range(round(seconds / 10)):
            self.peer.tell("ping")
            await self.clock.advance(10)
            while (await self.peer.hear()).HasField("ping"):
                pass


@asynccontextmanager
async def world(**settings: object):
    clock = ManualClock()
    settings = {"webServicePort": -1, "keepAliveIntervalSeconds": 10_000, **settings}
    async with LocalBroker(settings=settings, clock=clock) as broker:
        peer = await Peer.open(broker.port)
        yield World(broker, clock, peer)
        peer.wire.abort()


async def test_an_idle_topic_is_unloaded_and_loaded_with_its_backlog_by_the_next_to_use_it():
    async with world() as w:
        await w.subscribe()
        await w.publish(5)
        await w.acknowledge(0, 1, 3, of=5)
        await w.leave()
        await w.wait(IDLE_S - CHECK_S)
        assert w.loaded
        await w.wait(2 * CHECK_S)
        assert not w.loaded
        await w.subscribe()
        assert [(await w.peer.hear()).message.message_id.entryId for _ in range(2)] == [2, 4]


async def test_what_everybody_acknowledged_is_deleted_when_the_topic_is_unloaded():
    async with world() as w:
        await w.subscribe()
        await w.publish(3)
        await w.acknowledge(0, 1, 2, of=3)
        await w.leave()
        await w.wait(IDLE_S + CHECK_S)
        assert not w.loaded
        topic = await w.broker.broker.registry.get(NAME, create=False)
        assert (topic.storage_bytes, list(topic.subscriptions)) == (0, ["s"])


@pytest.mark.parametrize("values", [{}, {"durable": False}])
async def test_a_topic_with_a_consumer_or_a_reader_stays(values):
    async with world() as w:
        await w.subscribe(**values)
        await w.wait(2 * IDLE_S)
        assert w.loaded


async def test_a_topic_stays_while_retention_will_delete_something():
    """Nobody subscribed, so that the ledger is rolled over when it is old, and deleted then."""
    settings = {
        "managedLedgerMaxLedgerRolloverTimeMinutes": 20,
        "defaultRetentionTimeInMinutes": 20,
        "defaultRetentionSizeInMB": -1,
        "brokerDeleteInactiveTopicsEnabled": "false",
    }
    async with world(**settings) as w:
        await w.publish(3)
        await w.wait(40 * 60 - CHECK_S)
        assert w.loaded
        await w.wait(3 * CHECK_S)
        assert not w.loaded
        topic = await w.broker.broker.registry.get(NAME, create=False)
        assert topic.storage_bytes == 0


async def test_a_topic_whose_entries_are_kept_for_ever_is_unloaded_with_them():
    async with world(defaultRetentionTimeInMinutes=-1, defaultRetentionSizeInMB=-1) as w:
        await w.publish(3)
        await w.wait(IDLE_S + CHECK_S)
        assert not w.loaded
        await w.subscribe()
        for number in range(3):
            assert (await w.peer.hear()).message.message_id.entryId == number


async def test_a_topic_stays_when_not_all_acknowledgements_would_be_saved():
    async with world(managedLedgerMaxUnackedRangesToPersist=1) as w:
        await w.subscribe()
        await w.publish(5)
        await w.acknowledge(1, 3, of=5)
        await w.leave()
        await w.wait(2 * IDLE_S)
        assert w.loaded


async def test_without_the_setting_no_topic_is_unloaded():
    async with world(topicUnloadAfterIdleSeconds=0) as w:
        await w.subscribe()
        await w.leave()
        await w.wait(4 * IDLE_S)
        assert w.loaded
