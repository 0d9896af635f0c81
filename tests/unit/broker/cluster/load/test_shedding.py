"""What moves away from a broker, and what stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from magnetar.broker.cluster.load.shedding import Move, Shedding, SheddingRules
from magnetar.model.bundles import Bundle
from magnetar.model.names import NamespaceName

MB = 1 << 20


def bundle(number):
    return Bundle(NamespaceName("t", "n"), number, number + 1)


class Brokers:
    """Brokers that carry 100 MiB a second each, and the bundles they have."""

    def __init__(self, **loads):
        number = iter(range(1000))
        self.has = {
            name: {bundle(next(number)): float(load * MB) for load in each}
            for name, each in loads.items()
        }

    @property
    def usage(self):
        return {name: sum(its.values()) / (100 * MB) for name, its in self.has.items()}

    def look(self, shedding, now=0.0, place=None):
        place = place or (lambda _, usage: min(usage, key=usage.get))
        moves = shedding.look(now, self.usage, self.has.__getitem__, place)
        for move in moves:
            self.has[move.to][move.bundle] = self.has[move.source].pop(move.bundle)
        return moves


def test_the_busiest_bundles_leave_until_it_is_well_below_the_threshold():
    brokers = Brokers(a=[10] * 9, b=[10])

    moves = brokers.look(Shedding(SheddingRules()))

    # 0.9, and 0.5 is the mean: 0.9 - 0.6 + 0.05 of 90 MiB are 31.5.
    assert [(move.source, move.to) for move in moves] == [("a", "b")] * 4
    assert brokers.usage == pytest.approx({"a": 0.5, "b": 0.5})


def test_nothing_leaves_within_the_threshold():
    assert not Brokers(a=[10] * 6, b=[10] * 4).look(Shedding(SheddingRules()))


def test_a_trifle_stays():
    rules = SheddingRules(bytes_min=40 * MB)
    assert not Brokers(a=[10] * 9, b=[10]).look(Shedding(rules))


def test_one_bundle_that_is_too_hot_for_any_broker_goes_nowhere():
    assert not Brokers(a=[90, 0], b=[10]).look(Shedding(SheddingRules()))


def test_a_smaller_one_goes_where_the_hot_one_cannot():
    moves = Brokers(a=[70, 10, 10], b=[25]).look(Shedding(SheddingRules()))
    assert {move.bundle for move in moves} == {bundle(1), bundle(2)}


def test_what_may_go_nowhere_stays():
    assert not Brokers(a=[10] * 9, b=[10]).look(Shedding(SheddingRules()), place=lambda *_: None)


def test_the_lower_boundary_fills_an_empty_broker():
    loads = {name: [5] * 11 for name in "abcdefgh"}
    assert not Brokers(**loads, z=[]).look(Shedding(SheddingRules(bytes_min=MB)))

    moves = Brokers(**loads, z=[]).look(Shedding(SheddingRules(bytes_min=MB, lower_boundary=True)))
    assert [(move.source, move.to) for move in moves] == [("h", "z")]


def test_a_short_peak_moves_nothing():
    brokers, shedding = Brokers(a=[10] * 5, b=[10] * 5), Shedding(SheddingRules())
    brokers.look(shedding)
    peak = {"a": 1.0, "b": 0.5}

    assert not shedding.look(60, peak, brokers.has.__getitem__, lambda *_: "b")


def test_what_was_moved_is_not_shed_again_while_history_still_says_it_is_there():
    brokers, shedding = Brokers(a=[10] * 9, b=[10]), Shedding(SheddingRules())
    assert brokers.look(shedding)

    assert not any(brokers.look(shedding, 60.0 * minute) for minute in range(1, 100))


def test_a_bundle_stays_for_its_grace_period():
    shedding = Shedding(SheddingRules(history=0.0))
    loads = {"a": {bundle(0): 40.0 * MB, bundle(1): 40.0 * MB}, "b": {}}
    first = shedding.look(0, {"a": 0.8, "b": 0.0}, loads.__getitem__, lambda *_: "b")
    assert first == [Move(bundle(0), "a", "b")]
    back = {"a": {}, "b": {bundle(0): 40.0 * MB, bundle(2): 40.0 * MB}}
    again = {"a": 0.0, "b": 0.8}

    soon = shedding.look(1799, again, back.__getitem__, lambda *_: "a")
    assert [move.bundle for move in soon] == [bundle(2)]
    later = shedding.look(1801, again, {"a": {}, "b": back["b"]}.__getitem__, lambda *_: "a")
    assert bundle(0) in [move.bundle for move in later]


@given(
    st.lists(st.lists(st.integers(0, 50), max_size=8), min_size=1, max_size=6),
    st.booleans(),
)
def test_spread_never_grows_and_no_load_is_lost(loads, lower):
    brokers = Brokers(**{f"b{number}": each for number, each in enumerate(loads)})
    shedding = Shedding(SheddingRules(bytes_min=0, lower_boundary=lower))
    before, total = brokers.usage, sum(brokers.usage.values())
    moved = set()
    for minute in range(40):
        for move in brokers.look(shedding, minute * 45.0):
            assert move.source != move.to
            assert move.bundle not in moved, "it is within its grace period"
            moved.add(move.bundle)
    assert sum(brokers.usage.values()) == pytest.approx(total)
    assert max(brokers.usage.values()) <= max(before.values()) + 1e-9
