import asyncio

from support.clock import ManualClock
from unit.broker.peer import TOPIC, Peer, send

from magnetar.broker.assemble.stores import Stores
from magnetar.broker.housekeeping import SWEEPS_PER_INTERVAL, KeepAliveSweep
from magnetar.model.names import TopicName
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore
from magnetar.testing.local_broker import LocalBroker


class Member:
    """Wants to be called every ten seconds."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.due = clock.now() + 10
        self.ticks: list[float] = []

    def tick(self) -> None:
        now = self.clock.now()
        self.ticks.append(round(now, 6))
        self.due = now + 10


def test_only_who_is_due_is_called():
    clock = ManualClock(0.0)
    sweep = KeepAliveSweep(30.0, clock)
    early, late = Member(clock), Member(clock)
    sweep.add(early)
    sweep.add(late)
    late.due = 11
    clock.move(9.9)
    sweep.sweep()
    assert (early.ticks, late.ticks) == ([], [])
    clock.move(0.1)
    sweep.sweep()
    sweep.sweep()
    assert (early.ticks, late.ticks) == ([10], [])


def test_who_left_is_called_no_more():
    clock = ManualClock(0.0)
    sweep = KeepAliveSweep(30.0, clock)
    member = Member(clock)
    sweep.add(member)
    assert sweep.members() == [member]
    sweep.discard(member)
    sweep.discard(member)
    clock.move(99)
    sweep.sweep()
    assert (member.ticks, len(sweep)) == ([], 0)


def test_who_leaves_during_a_sweep_does_not_disturb_it():
    clock = ManualClock(0.0)
    sweep = KeepAliveSweep(30.0, clock)
    called = []

    class Leaver(Member):
        def tick(self) -> None:
            called.append(self)
            sweep.discard(self)

    for _ in range(3):
        sweep.add(Leaver(clock))
    clock.move(10)
    sweep.sweep()
    assert (len(called), len(sweep)) == (3, 0)


async def test_the_sweep_keeps_the_pace_of_the_clock():
    clock = ManualClock(0.0)
    sweep = KeepAliveSweep(1.0 * SWEEPS_PER_INTERVAL, clock)
    member = Member(clock)
    sweep.add(member)
    running = asyncio.create_task(sweep.run())
    await clock.advance(30.5)
    running.cancel()
    assert member.ticks == [10, 20, 30]


SHORT_LEDGERS = {
    "webServicePort": -1,
    "managedLedgerMaxEntriesPerLedger": 1,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "defaultRetentionTimeInMinutes": 1,
    "defaultRetentionSizeInMB": -1,
    "brokerDeleteInactiveTopicsEnabled": False,
}


async def five_ledgers(local):
    """A peer that has published, and the topic."""
    peer = await Peer.open(local.port)
    await peer.produce(1)
    for number in range(5):
        peer.wire.send(send(1, number, b"x"))
        await peer.hear()
    topic = local.broker.registry.loaded[TopicName.parse(TOPIC)]
    assert topic.ledger.entry_count == 5
    return peer, topic


async def test_ledgers_go_when_their_time_is_over():
    """No subscription needs them, but they are to be kept for a while."""
    clock = ManualClock()
    async with LocalBroker(settings=SHORT_LEDGERS, clock=clock) as local:
        peer, topic = await five_ledgers(local)
        ledger = topic.ledger
        await clock.advance(50)
        assert ledger.entry_count == 5
        await clock.advance(200)
        assert ledger.entry_count == 0
        peer.wire.abort()


async def test_a_topic_whose_log_is_fenced_is_closed_so_that_it_is_trimmed_again():
    """As one that was fenced while it was opened, when nobody was told of that yet."""
    clock = ManualClock()
    metadata = MemoryMetadataStore()
    stores = Stores(metadata, MemoryLedgerStore())
    async with LocalBroker(settings=SHORT_LEDGERS, clock=clock, stores=stores) as local:
        peer, topic = await five_ledgers(local)
        topic.ledger.when_fenced(lambda: None)
        registry, path = local.broker.registry, paths.managed_ledger(topic.ledger.name)
        await metadata.put(path, (await metadata.get(path)).value)
        await clock.advance(250)
        assert topic.fenced
        await clock.advance(250)
        assert topic.name not in registry.loaded
        opened = await registry.get(topic.name, create=False)
        await clock.advance(250)
        assert opened.ledger.entry_count == 0
        peer.wire.abort()
