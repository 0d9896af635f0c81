"""Latencies of two sides that took turns, compared. Pure.

A machine's noise comes in stretches: a neighbour's second of work, a disk that syncs slowly for a
while. So sides take turns, one slice each, in an order that favours none; latencies of a side are
pooled; and how far the ratio of two quantiles can be trusted is found by drawing whole pairs of
slices anew, as often as there are pairs, many times over (a bootstrap by clusters).
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final

STEP: Final = 1.005  # A bin is half a per cent wide.
LOWEST_S: Final = 10e-6
HIGHEST_S: Final = 60.0
BINS: Final = math.ceil(math.log(HIGHEST_S / LOWEST_S, STEP)) + 1
DRAWS: Final = 1000
SEED: Final = 20_261_122


class Slice:
    """The latencies of one side in one of its turns, counted by size."""

    def __init__(self, latencies_s: Iterable[float] = ()) -> None:
        counts = [0] * BINS
        for latency_s in latencies_s:
            within = min(max(latency_s, LOWEST_S), HIGHEST_S)
            counts[int(math.log(within / LOWEST_S, STEP))] += 1
        self.up_to = list(accumulate(counts))  # How many are in a bin, or in one before.


def quantile_s(slices: Sequence[Slice], share: float) -> float:
    """The latency that no more than ``1 - share`` of all exceed; 0 where there is none."""
    rank = share * sum(each.up_to[-1] for each in slices)
    found = bisect_right(range(BINS), rank, key=lambda at: sum(each.up_to[at] for each in slices))
    return LOWEST_S * STEP**found if rank else 0.0


@dataclass(frozen=True, slots=True)
class Ratio:
    """A quantile of the one side over that of the other, and where 95 of 100 draws lie."""

    value: float
    low: float
    high: float

    def verdict(self, most: float) -> str:
        if self.high <= most:
            return f"within {most:.2f}"
        return f"above {most:.2f}" if self.low > most else f"cannot tell whether within {most:.2f}"


def ratio(pairs: Sequence[tuple[Slice, Slice]], share: float) -> Ratio:
    """Of the second side's quantile to the first one's."""
    chance = Random(SEED)
    drawn = sorted(_ratio(chance.choices(pairs, k=len(pairs)), share) for _ in range(DRAWS))
    low, high = drawn[int(DRAWS * 0.025)], drawn[int(DRAWS * 0.975)]
    return Ratio(_ratio(pairs, share), low, high)


def _ratio(pairs: Sequence[tuple[Slice, Slice]], share: float) -> float:
    first, second = zip(*pairs, strict=True)
    return quantile_s(second, share) / quantile_s(first, share)


def order(pairs: int) -> list[int]:
    """Which side is when: first and second swap places in every other pair."""
    return [side for number in range(pairs) for side in ((0, 1), (1, 0))[number % 2]]
