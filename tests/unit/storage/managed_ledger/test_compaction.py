"""storage/managed_ledger/compaction.py: from one compacted ledger to the next, whatever happens."""

import asyncio

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.compacting import compact, kept, numbers
from unit.storage.managed_ledger.logs import Gate, append, entries

from magnetar.errors import Fenced, LedgerNotFound, WriteFailed
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.compaction import (
    COMPACTION_CURSOR,
    CURRENT,
)


async def settle(logs):
    """Save, and trim."""
    await logs.clock.advance(1)


async def fill(logs, ledger, count, start=0):
    await append(ledger, entries(count, start=start))
    await logs.roll(ledger)


async def test_it_is_recorded_in_its_cursor(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    cursor = ledger.cursors[COMPACTION_CURSOR]
    assert (cursor.mark, cursor.properties) == (Position(0, 9), {CURRENT: "1"})
    assert (ledger.compacted.ledger_id, ledger.compacted.entry_count) == (1, 5)
    again = await logs.open()
    assert (await numbers(again), again.compacted.horizon) == ([0, 2, 4, 6, 8], Position(0, 9))


async def test_the_log_is_held_until_it_is_compacted(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await settle(logs)
    assert ledger.layout.ledger_ids == []
    await fill(logs, ledger, 10, start=10)
    await settle(logs)
    assert ledger.layout.ledger_ids == [2], "no other cursor needs it"
    await compact(ledger)
    await settle(logs)
    assert (ledger.layout.ledger_ids, await numbers(ledger)) == ([], list(range(0, 20, 2)))


async def test_the_one_before_is_deleted(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await compact(ledger, lambda data: data == b"4")
    await settle(logs)
    assert (await numbers(ledger), logs.ledgers.existing) == ([4], {2})
    await compact(ledger, lambda _: False)
    await settle(logs)
    assert (await numbers(ledger), logs.ledgers.existing) == ([], {3})
    again = await logs.open()
    assert (again.compacted.ledger_id, await numbers(again)) == (3, [])


async def test_it_goes_with_the_log(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await ledger.begin_compaction()
    await ledger.delete()
    assert logs.ledgers.existing == set()


async def test_it_goes_with_its_cursor(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    await fill(logs, ledger, 10)
    await compact(ledger)
    await ledger.delete_cursor(COMPACTION_CURSOR)
    await settle(logs)
    assert (ledger.compacted, logs.ledgers.existing) == (None, {0})
    again = await logs.open()
    assert (again.compacted, await numbers(again)) == (None, list(range(10)))


async def test_a_ledger_that_is_missing_is_told_and_the_log_is_read_as_it_is(logs, ledger, caplog):
    await fill(logs, ledger, 4)
    await compact(ledger)
    await logs.ledgers.delete(1)
    again = await logs.open()
    assert "compaction.ledger_missing" in caplog.text
    assert await numbers(again) == [0, 1, 2, 3]
    await compact(again)
    assert await numbers(again) == [0, 2]


class Crash(Gate):
    """Counts what is done in the stores, and never lets the last of it happen."""

    def __init__(self, last):
        super().__init__()
        self.last = last
        self.reached = asyncio.Event()

    async def enter(self):
        await super().enter()
        self.last -= 1
        if self.last < 0:
            self.reached.set()
            await asyncio.Event().wait()


@pytest.mark.parametrize("step", range(12))
async def test_a_crash_at_any_step_leaves_the_old_or_the_new(logs, ledger, step):
    await fill(logs, ledger, 10)
    await compact(ledger)
    await settle(logs)
    await fill(logs, ledger, 10, start=10)
    old, new = [*range(0, 10, 2), *range(10, 20)], [0, 4, 8, 12, 16]

    crash, gates = Crash(step), {}
    for store in (logs.ledgers, logs.metadata):
        for name, gate in vars(store).items():
            if isinstance(gate, Gate) and name not in ("reads", "answers"):
                gates[store, name] = gate
    for store, name in gates:
        setattr(store, name, crash)
    compacting = logs.tasks.spawn("compact", compact(ledger, lambda data: int(data) % 4 == 0))
    reached = logs.tasks.spawn("crash", crash.reached.wait())
    await asyncio.wait([compacting, reached], return_when=asyncio.FIRST_COMPLETED)
    done = compacting.done()
    await until_idle()
    for (store, name), gate in gates.items():
        setattr(store, name, gate)

    again = await logs.open()
    found = await numbers(again)
    assert found == new if done else found in (old, new)
    await again.trim()
    used = {*again.layout.ledger_ids, *again.cursors[COMPACTION_CURSOR].ledger_ids}
    assert logs.ledgers.existing - used <= {3}, "at most an empty one, which is nothing on disk"
    await compact(again, lambda data: int(data) % 4 == 0)
    assert await numbers(again) == new
    if step == 11:
        assert done, "there are fewer steps than were tried"


async def test_nothing_is_trimmed_before_the_switch_is_durable(logs, ledger):
    await fill(logs, ledger, 10)
    logs.metadata.puts.failing = None
    writer = await ledger.begin_compaction()
    await writer.append(await kept(ledger, Position(0, 9)))
    logs.metadata.puts.failures = [WriteFailed("full")]
    with pytest.raises(WriteFailed):
        await writer.finish(Position(0, 9))
    await ledger.trim()
    assert ledger.layout.ledger_ids == [0]
    assert await numbers(ledger) == list(range(10)), "nobody knows whether it is recorded"
    await compact(ledger)
    await settle(logs)
    assert await numbers(ledger) == [0, 2, 4, 6, 8]
    assert logs.ledgers.existing == {ledger.compacted.ledger_id}
    assert ledger.cursors[COMPACTION_CURSOR].ledger_ids == (ledger.compacted.ledger_id,)


async def test_a_former_owner_deletes_nothing(logs, ledger):
    await fill(logs, ledger, 10)
    await compact(ledger)
    writer = await ledger.begin_compaction()
    await writer.append(await kept(ledger, Position(0, 9), lambda data: data == b"4"))
    again = await logs.open()
    with pytest.raises((Fenced, LedgerNotFound)):
        await writer.finish(Position(0, 9))
    assert await numbers(again) == [0, 2, 4, 6, 8]


async def test_a_refused_append_is_raised(logs, ledger):
    await fill(logs, ledger, 10)
    writer = await ledger.begin_compaction()
    logs.ledgers.appends.failing = WriteFailed("full")
    with pytest.raises(WriteFailed):
        await writer.append(await kept(ledger, Position(0, 9)))
    await writer.append([])
