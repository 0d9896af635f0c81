import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.topics.subscriptions.pending_acks import (
    PendingAcks,
    TransactionAcks,
    both,
    overlap,
)
from magnetar.errors import TransactionConflict
from magnetar.model.position import Position
from magnetar.model.txn_id import TxnId

ONE, TWO = TxnId(0, 1), TxnId(0, 2)


class Cursor:
    """What is acknowledged for good."""

    def __init__(self, mark=-1, batches=()):
        self.mark = Position(0, mark)
        self._batches = dict(batches)

    def is_acknowledged(self, position):
        return position <= self.mark

    def ack_set(self, position):
        return self._batches.get(position)


def at(entry_id):
    return Position(0, entry_id)


def test_what_is_pending_is_held_until_it_ends():
    pending = PendingAcks("who", Cursor())
    pending.add(ONE, {0: [1, 3]}, [])
    pending.add(TWO, {0: [2], 1: [0]}, [])
    assert pending.held_in(0, 1, 4) == {0, 1, 2}
    assert pending.held_in(1, 0, 4) == {0}
    assert pending.end(ONE).entries == {0: {1, 3}}
    assert pending.held_in(0, 1, 4) == {1}
    pending.end(TWO)
    assert not pending
    assert pending.held_in(0, 0, 9) == set()


def test_a_conflict_changes_nothing():
    pending = PendingAcks("who", Cursor(mark=0))
    pending.add(ONE, {0: [2]}, [])
    for entries, parts in [
        ({0: [1, 2]}, []),
        ({0: [1, 0]}, []),
        ({0: [1]}, [(at(2), [1], 2)]),
        ({0: [1]}, [(at(0), [1], 2)]),
    ]:
        with pytest.raises(TransactionConflict, match=r"^org\.apache\..*: who Transaction:\(0,2\)"):
            pending.add(TWO, entries, parts)
    assert list(pending.open) == [ONE]
    assert not pending.holds(at(1))


def test_parts_of_a_batch_are_of_several_transactions():
    pending = PendingAcks("who", Cursor(batches={at(1): [0b0111]}))
    pending.add(ONE, {}, [(at(1), [0b1110], 4)])
    assert pending.left(at(1), [0b0111]) == [0b0110]
    with pytest.raises(TransactionConflict, match="pending ack status"):
        pending.add(TWO, {}, [(at(1), [0b1100], 4)])
    with pytest.raises(TransactionConflict, match="already acked"):
        pending.add(TWO, {}, [(at(1), [0b0111], 4)])
    with pytest.raises(TransactionConflict, match="pending ack status"):
        pending.add(TWO, {0: [1]}, [])
    pending.add(TWO, {}, [(at(1), [0b1001], 4)])
    assert pending.holds(at(1))
    pending.end(ONE)
    assert (pending.holds(at(1)), pending.left(at(1), None)) == (False, [0b1001])


@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=130),
    st.permutations(range(6)),
)
def test_the_end_of_one_leaves_what_others_have_of_a_batch(owners, ends):
    pending, at_zero = PendingAcks("who", Cursor()), at(0)
    sizes = len(owners)

    def shown(taken):
        number = sum(1 << index for index in range(sizes) if index not in taken)
        return [number >> shift & (1 << 64) - 1 for shift in range(0, sizes, 64)]

    of = {n: {i for i, owner in enumerate(owners) if owner == n} for n in set(owners)}
    for number, taken in of.items():
        for index in sorted(taken):  # One after the other, as they are received.
            pending.add(TxnId(0, number), {}, [(at_zero, shown({index}), sizes)])
    for number in ends:
        if number not in of:
            continue
        assert pending.concerns_index(at_zero, 0) is not None
        del of[number]
        pending.end(TxnId(0, number))
        held = set().union(*of.values())
        assert pending.left(at_zero, None) == (shown(held) if of else None)
        assert pending.holds(at_zero) == (len(held) == sizes)


def test_a_cumulative_one_may_end_within_a_batch():
    pending = PendingAcks("who", Cursor())
    pending.add_cumulative(ONE, at(3), [0b10])
    assert pending.held_in(0, 0, 6) == {0, 1, 2}
    assert pending.left(at(3), None) == [0b10]
    pending.add_cumulative(ONE, at(5), None)
    assert pending.held_in(0, 0, 7) == {0, 1, 2, 3, 4, 5}
    assert (pending.end(ONE).upto, pending.holds(at(0))) == (at(5), False)


def test_a_cumulative_one_may_go_on_within_a_batch():
    pending = PendingAcks("who", Cursor())
    pending.add_cumulative(ONE, at(3), [0b1100, -1])
    pending.add_cumulative(ONE, at(3), [0b1000, -1])
    for transaction, words in ((ONE, [0b1000, -1]), (ONE, [0b1100, -1]), (TWO, None)):
        with pytest.raises(TransactionConflict):
            pending.add_cumulative(transaction, at(3), words)
    assert pending.left(at(3), None) == [0b1000, -1]
    pending.add_cumulative(ONE, at(3), None)
    with pytest.raises(TransactionConflict):
        pending.add_cumulative(ONE, at(3), [0b1000, -1])
    assert pending.end(ONE).upto_words is None


@given(st.lists(st.integers(0, 9), unique=True), st.none() | st.integers(0, 9))
def test_a_record_tells_everything(entries, upto):
    pending = PendingAcks("who", Cursor())
    pending.add(ONE, {0: entries}, [(Position(1, 0), [2**63 - 1, -1], 128)])
    if upto is not None:
        pending.add_cumulative(ONE, at(upto), [3])
    again = PendingAcks("who", Cursor())
    again.restore(ONE, TransactionAcks.of_record(pending.open[ONE].record()))
    assert again.open == pending.open
    assert again.held_in(0, 0, 10) == pending.held_in(0, 0, 10)
    assert again.left(Position(1, 0), None) == [2**63 - 1, -1]


@given(st.integers(1, 130), st.data())
def test_two_ack_sets_overlap_where_both_acknowledge_a_message(size, data):
    chosen = st.sets(st.integers(0, size - 1), min_size=1)
    one, other = data.draw(chosen), data.draw(chosen)

    def words_of(acknowledged):
        number = ((1 << size) - 1) & ~sum(1 << each for each in acknowledged)
        words = [(number >> 64 * index) & (2**64 - 1) for index in range((size + 63) // 64)]
        while words and not words[-1]:
            words.pop()  # As Java leaves them out.
        return [word - 2**64 if word > 2**63 - 1 else word for word in words]

    assert overlap(words_of(one), words_of(other), size) == bool(one & other)
    left = both(words_of(one), words_of(other))
    assert any(left) == (one | other != set(range(size)))


@pytest.mark.parametrize(
    ("words", "size", "left"),
    [
        ([0b110], 3, [0b001]),
        ([-2], 64, [1]),
        ([0], 64, [-1]),
        ([-1], 65, [0, 1]),  # Words that are 0 at the end are not sent.
        ([-1, 0b10], 66, [0, 0b01]),
        ([0b110], 0, None),
    ],
)
def test_of_an_entry_in_part_pending_that_much_is_left(words, size, left):
    pending = PendingAcks("who", Cursor())
    pending.add(ONE, {}, [(at(2), words, size)])
    pending.restore(ONE, TransactionAcks.of_record(pending.end(ONE).record()))
    assert pending.in_part(0, [1, 2, 3]) == {2: left}


def test_a_record_without_sizes_is_read():
    record = {"entries": [], "parts": [[[0, 2], [0b110]]], "upto": None, "words": None}
    assert TransactionAcks.of_record(record).sizes == {at(2): 0}
