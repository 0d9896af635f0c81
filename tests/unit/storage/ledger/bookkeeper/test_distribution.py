"""Positions and quorums, against the plainest way to say them."""

from hypothesis import given
from hypothesis import strategies as st
from unit.storage.ledger.bookkeeper.sizes import sizes

from magnetar.storage.ledger.bookkeeper.distribution import absent, covered, write_set


@given(sizes, st.integers(0, 1000))
def test_an_entry_is_at_positions_one_behind_the_other(size, entry):
    ensemble, write, _ = size
    positions = write_set(entry, ensemble, write)
    assert len(set(positions)) == write
    assert positions[0] == entry % ensemble


@given(sizes, st.data())
def test_who_was_heard_covers_when_no_entry_can_be_confirmed_by_the_others(size, data):
    ensemble, write, ack = size
    heard = data.draw(st.lists(st.booleans(), min_size=ensemble, max_size=ensemble))
    possible = any(
        sum(not heard[p] for p in write_set(entry, ensemble, write)) >= ack
        for entry in range(ensemble)
    )
    assert covered(heard, write, ack) is not possible


def test_an_entry_is_absent_when_too_few_are_left_that_could_have_it():
    assert [absent(negative, 3, 2) for negative in range(4)] == [False, False, True, True]
