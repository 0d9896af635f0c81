"""Which bookies are chosen."""

from collections import Counter
from itertools import count, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.errors import NotEnoughBookies
from magnetar.storage.ledger.bookkeeper.distribution import write_set
from magnetar.storage.ledger.bookkeeper.placement import Placement, PlacementRule
from magnetar.storage.ledger.bookkeeper.racks import IsolationGroups, Racks

ENFORCED = PlacementRule(enforced=True)
TURNS = st.integers(0, 99)


def placement(bookies, racks=None, avoided=(), *, turn=0, rule=None, groups=None):
    return Placement(
        bookies,
        Racks(racks or {}, groups or {}),
        avoided,
        count(turn),
        rule or PlacementRule(),
    )


def on_racks(*sizes):
    """Bookies on as many racks, of which each has so many."""
    return {f"b{r}{n}": f"/r{r}" for r, size in enumerate(sizes) for n in range(size)}


def racks_of(ensemble, racks, write_quorum):
    """How many racks the entry has that is on the fewest."""
    return min(
        len({racks.get(ensemble[at]) for at in write_set(first, len(ensemble), write_quorum)})
        for first in range(len(ensemble))
    )


def best(racks, kept, write_quorum):
    """The same, of the best ensemble that there is with what is ``kept``."""
    free = [each for each in racks if each not in kept]
    empty = [at for at, each in enumerate(kept) if each is None]
    found = 0
    for others in permutations(free, len(empty)):
        ensemble = list(kept)
        for at, each in zip(empty, others, strict=True):
            ensemble[at] = each
        found = max(found, racks_of(ensemble, racks, write_quorum))
    return found


@given(st.integers(1, 6), st.integers(0, 6), TURNS, st.sets(st.integers(0, 5)))
def test_an_ensemble_has_bookies_once_and_avoided_ones_last(size, number, turn, avoided):
    bookies = [f"b{each}" for each in range(number)]
    away = {f"b{each}" for each in avoided} & set(bookies)
    if number < size:
        with pytest.raises(NotEnoughBookies, match=f"a ledger on {size} bookies"):
            placement(bookies, turn=turn).choose(size, 1)
        return
    chosen = placement(bookies, avoided=away, turn=turn).choose(size, min(2, size))
    assert len(set(chosen)) == size
    assert len(away & set(chosen)) == max(0, size - (number - len(away)))


@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=4).filter(lambda sizes: sum(sizes) <= 6),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(1, 3),
    TURNS,
)
def test_each_write_quorum_is_on_as_many_racks_as_can_be(sizes, size, quorum, racks_min, turn):
    racks = on_racks(*sizes)
    size, quorum = min(size, len(racks)), min(quorum, size, len(racks))
    asked = PlacementRule(racks_min)
    chosen = placement(list(racks), racks, turn=turn, rule=asked).choose(size, quorum)
    assert len(set(chosen)) == size
    can_be = best(racks, [None] * size, quorum)
    assert racks_of(chosen, racks, quorum) >= min(racks_min, can_be)


@given(TURNS, st.integers(3, 6))
def test_the_last_of_an_ensemble_stands_beside_the_first(turn, size):
    racks = on_racks(3, 2, 2)
    chosen = placement(list(racks), racks, turn=turn).choose(size, 2)
    assert racks_of(chosen, racks, 2) == 2


@given(TURNS)
def test_bookies_without_a_rack_are_on_one(turn):
    racks = {"b0": "/r", "b1": "/r"}
    chosen = placement(["b0", "b1", "b2", "b3"], racks, turn=turn).choose(2, 2)
    assert len({racks.get(each) for each in chosen}) == 2


@given(TURNS)
def test_who_fails_is_replaced_by_one_that_is_not_there(turn):
    there = ("b0", "b1", "b2")
    bookies = [f"b{number}" for number in range(5)]
    changed = placement(bookies, turn=turn).replace(there, {"b1"}, 2)
    assert changed[0] == "b0"
    assert changed[2] == "b2"
    assert changed[1] in {"b3", "b4"}


@given(
    st.permutations(list(on_racks(2, 2, 3))),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sets(st.integers(0, 3), min_size=1),
    TURNS,
)
def test_who_takes_a_place_is_on_another_rack_if_that_can_be(order, size, quorum, failed, turn):
    racks = on_racks(2, 2, 3)
    quorum = min(quorum, size)
    there = tuple(order[:size])
    gone = {there[at] for at in failed if at < size}
    kept = [None if each in gone else each for each in there]
    others = {each: rack for each, rack in racks.items() if each not in gone}
    if len(others) < size:
        with pytest.raises(NotEnoughBookies, match="another one than"):
            placement(list(racks), racks, turn=turn).replace(there, gone, quorum)
        return
    changed = placement(list(racks), racks, turn=turn).replace(there, gone, quorum)
    assert not gone.intersection(changed)
    assert len(set(changed)) == size
    assert [
        (old, new) for old, new in zip(kept, changed, strict=True) if old not in {None, new}
    ] == []
    if gone:
        assert racks_of(changed, racks, quorum) >= min(2, best(others, kept, quorum))


def test_every_bookie_has_its_share():
    racks = on_racks(3, 3)
    choice = placement(list(racks), racks)
    taken = Counter(each for _ in range(3000) for each in choice.choose(2, 2))
    assert max(taken.values()) < 1.2 * min(taken.values())


def test_rather_no_ledger_than_one_on_fewer_racks():
    racks = on_racks(3)
    assert len(placement(list(racks), racks).choose(2, 2)) == 2
    with pytest.raises(NotEnoughBookies, match=r"on 1 racks.*bookkeeperClientMinNumRacks"):
        placement(list(racks), racks, rule=ENFORCED).choose(2, 2)
    with pytest.raises(NotEnoughBookies, match="fewer racks than 2"):
        placement(list(racks), racks, rule=ENFORCED).replace(("b00", "x"), {"x"}, 2)
    racks = on_racks(2, 1)
    chosen = placement(list(racks), racks, {"b10"}, rule=ENFORCED).choose(2, 2)
    assert "b10" in chosen  # One that is to be avoided is better than another of the same rack.


def test_groups_have_the_ledgers_of_those_who_ask_for_them():
    groups = {"a": {"b0", "b1"}, "b": {"b2", "b3"}, "c": {"b4", "b1"}}
    bookies = [f"b{number}" for number in range(6)]  # The last one is in no group.

    def chosen(size, *asked):
        rule = PlacementRule(groups=IsolationGroups(*asked))
        each = placement(bookies, groups=groups, rule=rule)
        return {name for _ in range(40) for name in each.choose(size, 2)}

    assert chosen(2) == set(bookies)
    assert chosen(2, ("a",)) == {"b0", "b1", "b5"}
    assert chosen(2, ("a",), ("b",)) == {"b0", "b1", "b5"}
    assert chosen(4, ("a",), ("b",)) == {"b0", "b1", "b2", "b3", "b5"}
    with pytest.raises(NotEnoughBookies, match="there are 3 that take writes in the groups a:"):
        chosen(4, ("a",))


def test_there_is_a_spare_one():
    groups = {"a": {"b0", "b1", "b2"}, "b": {"b3"}}
    rule = PlacementRule(groups=IsolationGroups(("a",)))
    four = ["b0", "b1", "b2", "b3"]
    assert placement(four, groups=groups, rule=rule).has_spare({"b0", "b1"})
    assert not placement(four, avoided={"b2"}, groups=groups, rule=rule).has_spare({"b0", "b1"})


def test_a_search_that_would_take_long_is_for_fewer_racks():
    racks = on_racks(20, 20, 20, 1)
    chosen = placement(list(racks), racks, rule=PlacementRule(4)).choose(20, 6)
    assert racks_of(chosen, racks, 6) == 3
