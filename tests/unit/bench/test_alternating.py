from random import Random

import pytest

from bench.alternating import HIGHEST_S, Slice, order, quantile_s, ratio


def test_quantiles_are_right_to_a_per_cent():
    ms = [number / 1000 for number in range(1, 1001)]
    slices = [Slice(ms[:400]), Slice(ms[400:])]
    for share in (0.5, 0.9, 0.99):
        assert quantile_s(slices, share) == pytest.approx(share, rel=0.01)
    assert quantile_s([Slice()], 0.5) == 0


def test_what_is_shorter_or_longer_than_all_bins_counts():
    odd = Slice([0, 1e-9, 1e9])
    assert odd.up_to[-1] == 3
    assert quantile_s([odd], 0.99) == pytest.approx(HIGHEST_S, rel=0.01)


def test_sides_take_turns_and_neither_is_always_first():
    assert order(3) == [0, 1, 1, 0, 0, 1]


def pairs_of(factor, *, seed=1):
    """Slices that differ much from each other, and by ``factor`` from side to side."""
    chance, pairs = Random(seed), []
    for _ in range(20):
        noise = chance.uniform(0.5, 2)
        one, other = ([chance.expovariate(1000 / noise) for _ in range(1000)] for _ in "01")
        pairs.append((Slice(one), Slice(each * factor for each in other)))
    return pairs


def test_the_interval_has_the_ratio_in_it():
    for factor in (0.8, 1, 1.3):
        found = ratio(pairs_of(factor), 0.99)
        assert found.low < factor < found.high
        assert found.low < found.value < found.high
        assert found.high - found.low < 0.5


def test_it_is_said_what_can_be_told():
    assert ratio(pairs_of(0.8), 0.99).verdict(1.1) == "within 1.10"
    assert ratio(pairs_of(1.5), 0.99).verdict(1.1) == "above 1.10"
    assert ratio(pairs_of(1.1), 0.99).verdict(1.1) == "cannot tell whether within 1.10"
