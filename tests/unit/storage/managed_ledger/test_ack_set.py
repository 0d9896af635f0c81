import pytest

from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.storage.managed_ledger.ack_set import AckSet
from magnetar.storage.managed_ledger.layout import Layout


@pytest.fixture
def log():
    """Ledger 3 with entries 0 to 9, ledger 5 with 0 to 4, ledger 8 open with 0 to 9."""
    layout = Layout()
    for ledger_id, last in ((3, 9), (5, 4)):
        layout.begin(ledger_id)
        layout.seal(last, 100, 0)
    layout.begin(8)
    layout.grow(9, 100)
    return layout


@pytest.fixture
def acks():
    return AckSet(Position(3, -1))


def at(ledger_id, *entry_ids):
    return [Position(ledger_id, entry_id) for entry_id in entry_ids]


def add(acks, positions, log):
    """Acknowledge entries of any ledgers. Returns the mark."""
    for ledger_id in dict.fromkeys(place.ledger_id for place in positions):
        entry_ids = [place.entry_id for place in positions if place.ledger_id == ledger_id]
        acks.add_entries(ledger_id, entry_ids, log)
    return acks.mark


def test_in_order_only_the_mark_moves(acks, log):
    assert add(acks, at(3, 0, 1, 2), log) == (3, 2)
    assert add(acks, at(3, 3), log) == (3, 3)
    assert not acks.ranges
    assert acks.beyond == 0


def test_what_is_out_of_order_waits_for_the_gap(acks, log):
    assert add(acks, at(3, 1, 2, 4), log) == (3, -1)
    assert acks.beyond == 3
    assert add(acks, at(3, 0), log) == (3, 2)
    assert add(acks, at(3, 3), log) == (3, 4)
    assert acks.beyond == 0


def test_the_mark_crosses_from_ledger_to_ledger(acks, log):
    add(acks, at(5, 0, 1) + at(8, 0), log)
    add(acks, at(3, *range(10)), log)
    assert acks.mark == (5, 1)
    assert add(acks, at(5, 2, 3, 4), log) == (8, 0)
    assert not acks.ranges


def test_positions_that_do_not_exist_change_nothing(acks, log):
    before = acks.changes
    nowhere = [*at(4, 0), *at(3, 10, -1), *at(8, 10), *at(99, 0), EARLIEST, LATEST]
    assert add(acks, nowhere, log) == (3, -1)
    assert acks.changes == before
    assert not acks.ranges


def test_an_empty_list_changes_nothing(acks, log):
    acks.add_entries(3, [], log)
    assert (acks.mark, acks.changes) == ((3, -1), 0)


def test_cumulative_takes_everything_before(acks, log):
    add(acks, at(3, 4) + at(5, 3), log)
    acks.advance(Position(5, 2), log)
    assert acks.mark == (5, 3)
    assert acks.beyond == 0


def test_cumulative_beyond_the_end_changes_nothing(acks, log):
    acks.advance(Position(8, 10), log)
    assert acks.mark == (3, -1)
    acks.advance(Position(5, 5), log)
    assert acks.mark == (3, -1)
    acks.advance(Position(9, 0), log)
    assert acks.mark == (3, -1)
    assert acks.changes == 0


def test_cumulative_to_before_a_ledger_stands_for_the_ledgers_before(acks, log):
    acks.advance(Position(5, -1), log)
    assert acks.mark == (5, -1)
    assert acks.covers(Position(3, 9))
    assert not acks.covers(Position(5, 0))


def test_the_mark_never_moves_back(acks, log):
    acks.advance(Position(5, 2), log)
    acks.advance(Position(3, 2), log)
    assert acks.mark == (5, 2)
    assert add(acks, at(3, 5), log) == (5, 2)
    acks.raise_mark(Position(3, 3), log)
    assert acks.mark == (5, 2)


def test_reset_may_move_the_mark_back(acks, log):
    add(acks, at(3, 0, 1, 5), log)
    acks.add_batch(Position(3, 7), [0b10], log)
    acks.reset(Position(3, -1))
    assert acks.mark == (3, -1)
    assert acks.beyond == 0
    assert not acks.covers(Position(3, 5))
    assert acks.ack_set(Position(3, 7)) is None


def test_ack_sets_only_lose_bits(acks, log):
    place = Position(3, 2)
    acks.add_batch(place, [0b1101], log)
    acks.add_batch(place, [0b0111], log)
    assert acks.ack_set(place) == [0b0101]
    assert not acks.covers(place)


def test_an_ack_set_without_bits_acknowledges_the_entry(acks, log):
    place = Position(3, 0)
    acks.add_batch(place, [0b10, 0b1], log)
    acks.add_batch(place, [0b01], log)
    assert acks.mark == (3, 0)
    assert acks.ack_set(place) is None


def test_words_that_were_cut_off_are_zero(acks, log):
    place = Position(3, 4)
    acks.add_batch(place, [1, 1], log)
    acks.add_batch(place, [1], log)
    assert acks.ack_set(place) == [1]


def test_the_highest_bit_of_a_word_may_make_it_negative(acks, log):
    place = Position(3, 4)
    acks.add_batch(place, [-1], log)
    acks.add_batch(place, [-(2**63)], log)
    assert acks.ack_set(place) == [-(2**63)]


def test_an_empty_ack_set_acknowledges_the_entry(acks, log):
    acks.add_batch(Position(3, 0), [], log)
    assert acks.mark == (3, 0)


def test_an_ack_set_for_what_is_acknowledged_is_ignored(acks, log):
    add(acks, at(3, 0, 5), log)
    before = acks.changes
    for place in (*at(3, 0, 5), *at(4, 0), *at(8, 10)):
        acks.add_batch(place, [1], log)
    assert acks.changes == before
    assert not acks.batches


def test_an_acknowledged_entry_has_no_ack_set(acks, log):
    for entry_id in range(6):
        acks.add_batch(Position(3, entry_id), [1], log)
    acks.add_batch(Position(5, 1), [1], log)
    add(acks, at(3, 3), log)
    assert acks.ack_set(Position(3, 3)) is None
    acks.advance(Position(3, 4), log)
    assert list(acks.batches[3]) == [5]
    add(acks, at(3, *range(5, 10)), log)
    assert list(acks.batches) == [5]
    acks.advance(Position(8, 0), log)
    assert not acks.batches


def test_gaps_are_what_is_not_acknowledged(acks, log):
    add(acks, at(3, 0, 1, 4, 5), log)
    assert acks.gaps(3, 0, 9) == [(2, 3), (6, 9)]
    assert acks.gaps(5, 0, 4) == [(0, 4)]
    acks.advance(Position(5, 1), log)
    assert acks.gaps(3, 0, 9) == []
    assert acks.gaps(5, 0, 4) == [(2, 4)]
    assert acks.gaps(5, 0, 1) == []


def test_only_what_changes_something_counts_as_a_change(acks, log):
    add(acks, at(3, 4), log)
    changes = acks.changes
    add(acks, at(3, 4), log)
    acks.advance(Position(3, -1), log)
    assert acks.changes == changes
    acks.add_batch(Position(3, 6), [3], log)
    acks.add_batch(Position(3, 6), [3], log)
    assert acks.changes == changes + 1


def test_a_batch_acknowledged_as_a_whole_beyond_the_mark_has_no_bits_left(acks, log):
    acks.add_batch(Position(3, 5), [0b10], log)
    acks.add_batch(Position(3, 7), [0b10], log)
    acks.add_entries(3, [6, 5, 5], log)
    assert acks.batches == {3: {7: [0b10]}}
    assert acks.beyond == 2


def test_a_range_that_ends_before_it_begins_is_nothing(acks, log):
    acks.add_range(3, 5, 4, log)
    assert acks.mark == (3, -1)
    assert not acks.ranges
