"""Sets of entries, beside plain sets."""

import random

import pytest

from magnetar.broker.dispatch.entry_set import CHUNK_ENTRIES, EntrySet
from magnetar.model.position import Position


def filled(*ranges, ledger_id=3):
    entries = EntrySet()
    for first, last in ranges:
        entries.add(ledger_id, list(range(first, last + 1)))
    return entries


@pytest.mark.parametrize(
    ("ranges", "first", "last", "gaps"),
    [
        ([], 0, 9, [(0, 9)]),
        ([(0, 9)], 0, 9, []),
        ([(2, 4)], 0, 9, [(0, 1), (5, 9)]),
        ([(2, 4)], 3, 3, []),
        ([(2, 4)], 3, 5, [(5, 5)]),
        ([(2, 4), (9, 30)], 0, 9, [(0, 1), (5, 8)]),
        ([(20, 30)], 0, 9, [(0, 9)]),
        ([(0, 3 * CHUNK_ENTRIES)], 5, 3 * CHUNK_ENTRIES + 2, [(12289, 12290)]),
        ([(3 * CHUNK_ENTRIES, 3 * CHUNK_ENTRIES)], 0, 20_000, [(0, 12287), (12289, 20_000)]),
    ],
)
def test_gaps_are_what_is_not_in_it(ranges, first, last, gaps):
    assert filled(*ranges).gaps(3, first, last) == gaps
    assert EntrySet().gaps(3, first, last) == [(first, last)]
    assert filled(*ranges).gaps(4, first, last) == [(first, last)]


def test_consecutive_entries_end_where_the_next_one_is_missing():
    entries = filled((5, 7), (CHUNK_ENTRIES - 2, 2 * CHUNK_ENTRIES - 1))
    assert entries.end_of(3, 4) is None
    assert entries.end_of(3, -1) is None
    assert entries.end_of(9, 5) is None
    assert [entries.end_of(3, each) for each in (5, 7, 8)] == [7, 7, None]
    assert entries.end_of(3, CHUNK_ENTRIES) == 2 * CHUNK_ENTRIES - 1


def test_whole_ledgers_go_with_what_lies_before():
    entries = filled((0, 9))
    entries.add(5, [1, 4_100])
    entries.drop_through(Position(3, 20))
    assert (entries.count, list(entries.positions())) == (2, [Position(5, 1), Position(5, 4_100)])
    assert entries.count_after(Position(5, 1)) == 1
    assert entries.count_after(Position(4, 99)) == 2
    entries.drop_through(Position(5, 4_099))
    assert list(entries.chunks()) == [(5, 1, 1 << 4)]
    entries.drop_through(Position(6, -1))
    assert (entries.count, list(entries.chunks())) == (0, [])


def test_it_is_what_a_plain_set_is():
    chance, entries, plain = random.Random(11), EntrySet(), set()
    for _ in range(400):
        ledger_id, first = chance.choice([1, 2]), chance.randrange(3 * CHUNK_ENTRIES)
        some = chance.sample(range(first, first + 300), 40)
        match chance.randrange(4):
            case 0 | 1:
                entries.add(ledger_id, some)
                plain.update((ledger_id, each) for each in some)
            case 2:
                entries.discard(ledger_id, some)
                plain.difference_update((ledger_id, each) for each in some)
            case _:
                entries.discard_range(ledger_id, first, first + 150)
                plain -= {(ledger_id, each) for each in range(first, first + 151)}
        assert entries.count == len(plain)
        assert entries.has(ledger_id, first) == ((ledger_id, first) in plain)
        gaps = entries.gaps(ledger_id, first, first + 500)
        missing = {each for start, stop in gaps for each in range(start, stop + 1)}
        assert missing == {e for e in range(first, first + 501) if (ledger_id, e) not in plain}
    assert set(entries.positions()) == plain
    copy = EntrySet()
    copy.update(entries)
    assert set(copy.positions()) == plain
    middle = Position(2, CHUNK_ENTRIES)
    assert entries.count_after(middle) == sum(each > middle for each in plain)
    entries.clear()
    assert entries.count == 0
