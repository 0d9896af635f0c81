from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from magnetar.model.position import Position
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.pieces import LedgerRange, counts, divided
from magnetar.spark.planning import Range

TOPIC = "persistent://public/default/t"

entries_of_ledgers = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 40)), min_size=1, max_size=6
)


@given(entries_of_ledgers, st.integers(1, 12))
def test_the_pieces_have_every_entry_once_and_about_as_many_each(ledgers, count):
    parts = [
        LedgerRange(10 * number, first, first + size)
        for number, (first, size) in enumerate(ledgers)
    ]
    entries = [Position(p.ledger_id, entry) for p in parts for entry in range(p.first, p.stop)]
    upto = Offset(parts[-1].ledger_id, max(parts[-1].stop - 1, 0), 3)
    pieces = divided(Range(TOPIC, NOTHING_READ, upto), parts, count)
    assert pieces[0].after == NOTHING_READ
    assert pieces[-1].upto == upto
    assert all(one.upto == following.after for one, following in pairwise(pieces))
    shares = [
        sum(piece.after < Offset(*entry, 0) <= piece.upto for entry in entries) for piece in pieces
    ]
    assert sum(shares) == len(entries)
    assert max(shares) - min(shares) <= 1
    assert len(pieces) == min(count, len(entries) or 1)


@given(st.lists(st.integers(0, 10_000), min_size=1, max_size=8), st.integers(1, 20))
def test_there_are_as_many_pieces_as_asked_for_in_the_ranges_that_have_most(sizes, pieces_min):
    found = counts(sizes, pieces_min, 1)
    assert all(count >= 1 for count in found)
    assert sum(found) < pieces_min + 2 * len(sizes)
    if sum(sizes) >= pieces_min:
        assert sum(found) >= pieces_min
    for size, count in zip(sizes, found, strict=True):
        assert all(count >= other for less, other in zip(sizes, found, strict=True) if less < size)


def test_what_nobody_asked_to_divide_stays_whole_where_it_is_small():
    assert counts([199], 2, 100) == [1]
    assert counts([200], 2, 100) == [2]
    assert counts([100_000, 10], 8, 100) == [8, 1]
