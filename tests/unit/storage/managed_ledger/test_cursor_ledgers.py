"""Ledgers that go with a cursor, and what a cursor passes over."""

import pytest
from unit.storage.managed_ledger.logs import append

from magnetar.errors import LedgerNotFound, StoreLocked
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.cursor_ledgers import CursorLedgers


async def test_ledgers_are_known_again_and_go_with_the_cursor(logs):
    ledger = await logs.open()
    ledgers = CursorLedgers(await ledger.open_cursor("s", EARLIEST))
    first, second = await ledgers.create(), await ledgers.create()
    assert ledgers.ids == (first.ledger_id, second.ledger_id)
    assert logs.ledgers.options[-1].metadata["pulsar/cursor"] == b"s"
    await ledgers.delete(first.ledger_id)
    with pytest.raises(LedgerNotFound):
        await ledgers.open(first.ledger_id)
    await ledger.close()
    again = await logs.open()
    ledgers = CursorLedgers(again.cursors["s"])
    assert ledgers.ids == (second.ledger_id,)
    assert (await ledgers.open(second.ledger_id)).end.last_entry_id == -1
    await again.delete_cursor("s")
    with pytest.raises(LedgerNotFound):
        await ledgers.open(second.ledger_id)


async def test_a_ledger_whose_record_could_not_be_written_is_not_left_behind(cursor, monkeypatch):
    ledgers, made = CursorLedgers(cursor), []

    async def fails(of, ids):
        of.ledger_ids = ids
        made.extend(ids)
        raise StoreLocked("gone")

    monkeypatch.setattr(type(cursor), "set_ledgers", fails)
    with pytest.raises(StoreLocked):
        await ledgers.create()
    assert ledgers.ids == ()
    with pytest.raises(LedgerNotFound):
        await ledgers.open(made[0])


class Evens:
    """Keeps the entries with even numbers."""

    def end_of(self, _, entry_id):
        return entry_id if entry_id % 2 == 0 else None

    def gaps(self, _, first, last):
        return [(each, each) for each in range(first, last + 1) if each % 2]


async def test_entries_that_are_kept_are_passed_over_when_reading_on_but_not_when_asked_for(
    ledger, cursor
):
    ledger_id, _ = await append(ledger, [b"%d" % number for number in range(6)])
    cursor.reader.skipped = Evens()
    runs = cursor.reader.cached(10, 1000)
    assert [run.data for run in runs] == [[b"1"], [b"3"], [b"5"]]
    [(run, picked)] = cursor.reader.cached_at(ledger_id, [2])
    assert [run.data[index] for index in picked] == [b"2"]
    [run] = await cursor.reader.read_at([Position(ledger_id, 4)])
    assert run.data == [b"4"]
    cursor.reader.rewind()
    assert [run.data for run in await cursor.reader.read(10, 1000)] == [[b"1"], [b"3"], [b"5"]]
