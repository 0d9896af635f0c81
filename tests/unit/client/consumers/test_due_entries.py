"""Entries that are due some time after they were added."""

from magnetar.client.consumers.due_entries import DueEntries
from magnetar.model.position import Position


def at(entry_id):
    return Position(1, entry_id)


def test_entries_are_due_in_the_order_they_were_added_last():
    entries = DueEntries(10.0)
    assert entries.first is None
    entries.add([at(1), at(2)], 0.0)
    entries.add([at(3), at(1)], 5.0)
    assert (len(entries), entries.first) == (3, 10.0)
    assert entries.take(9.9) == []
    assert entries.take(10.0) == [at(2)]
    assert entries.first == 15.0
    assert entries.take(99.0) == [at(3), at(1)]
    assert entries.take(99.0) == []


def test_entries_are_taken_out():
    entries = DueEntries(10.0)
    entries.add(map(at, range(6)), 0.0)
    entries.discard(at(4))
    entries.discard(at(77))
    entries.discard_through(at(2))
    assert entries.take(10.0) == [at(3), at(5)]
    entries.add([at(6)], 10.0)
    entries.clear()
    assert len(entries) == 0
