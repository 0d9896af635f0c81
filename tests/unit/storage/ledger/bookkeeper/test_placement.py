"""Which bookies are chosen."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import NotEnoughBookies
from magnetar.storage.ledger.bookkeeper.placement import Placement


def placement(bookies, racks=None, avoided=(), turn=0):
    return Placement(bookies, racks or {}, avoided, count(turn))


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 99), st.sets(st.integers(0, 5)))
def test_an_ensemble_has_bookies_once_and_avoided_ones_last(size, number, turn, avoided):
    bookies = [f"b{each}" for each in range(number)]
    away = {f"b{each}" for each in avoided} & set(bookies)
    if number < size:
        with pytest.raises(NotEnoughBookies, match=f"a ledger on {size} bookies"):
            placement(bookies, turn=turn).choose(size)
        return
    chosen = placement(bookies, avoided=away, turn=turn).choose(size)
    assert len(set(chosen)) == size
    assert len(away & set(chosen)) == max(0, size - (number - len(away)))


@given(st.integers(0, 99))
def test_neighbours_are_on_different_racks(turn):
    racks = {f"b{number}": f"r{number % 2}" for number in range(6)}
    chosen = placement(list(racks), racks, turn=turn).choose(2)
    assert len({racks[each] for each in chosen}) == 2


@given(st.integers(0, 99))
def test_who_fails_is_replaced_by_one_that_is_not_there(turn):
    there = ("b0", "b1", "b2")
    changed = placement([f"b{number}" for number in range(5)], turn=turn).replace(there, {"b1"})
    assert changed[0] == "b0"
    assert changed[2] == "b2"
    assert changed[1] in {"b3", "b4"}
