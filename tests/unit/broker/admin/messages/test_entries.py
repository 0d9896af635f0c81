import pytest
from unit.broker.admin.messages.entries import batch_of, entry_of
from unit.storage.managed_ledger.logs import append

from magnetar.broker.admin.messages import entries
from magnetar.broker.admin.messages.entries import (
    PAUSE_S,
    TurnTaker,
    entries_back,
    entries_from,
    unpacked,
)
from magnetar.clock import SystemClock
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.position import EARLIEST, Position


@pytest.fixture
async def topic(world):
    topic = await world.topic("persistent://public/default/x")
    for number in range(20):
        await append(topic.ledger, [entry_of(b"%d" % number)], EntryTraits([1]))
    return topic


async def test_large_entries_are_unpacked_in_a_thread():
    large = batch_of(b"a" * 300_000, b"b")
    found = await unpacked(Position(1, 1), large, TurnTaker(SystemClock()), backwards=True)
    assert [each.size for each in found] == [1, 300_000]


async def test_others_have_their_turn():
    turns = []

    class Clock(SystemClock):
        times = iter(range(100))

        def now(self):
            return next(self.times)

        async def sleep(self, seconds):
            turns.append(seconds)

    await unpacked(Position(1, 1), batch_of(b"a", b"b"), TurnTaker(Clock()))
    assert turns == [PAUSE_S] * 3


async def test_entries_are_read_up_to_a_place(topic):
    ledger_id, _ = topic.log.first
    found = [
        position.entry_id
        async for position, _ in entries_from(topic.log, EARLIEST, Position(ledger_id, 3))
    ]
    assert found == [0, 1, 2]


async def ids(found):
    return [position.entry_id async for position, _ in found]


async def test_backwards_the_last_comes_first_however_many_are_read_at_once(topic, monkeypatch):
    log, (ledger_id, _) = topic.log, topic.log.first
    assert await ids(entries_back(log, log.end)) == [*range(19, -1, -1)]
    assert await ids(entries_back(log, Position(ledger_id, 2))) == [1, 0]
    assert await ids(entries_back(log, Position(ledger_id, 2), inclusive=True)) == [2, 1, 0]
    monkeypatch.setattr(entries, "READ_BYTES", 1)  # All are large.
    assert await ids(entries_back(log, log.end)) == [*range(19, -1, -1)]


async def test_backwards_few_large_entries_are_read_at_once(topic, monkeypatch):
    monkeypatch.setattr(entries, "READ_BYTES", 1)
    read, log = [], topic.log
    original = entries.entries_from

    def counted(log, start, stop):
        read.append(log.entries_between(start, stop))
        return original(log, start, stop)

    monkeypatch.setattr(entries, "entries_from", counted)
    await ids(entries_back(log, log.end))
    assert read[:4] == [4, 2, 1, 1]
