"""Counts durations by size, so that their quantiles can be told. Pure.

A bucket is a quarter of a doubling wide: a quantile is exact to about a fifth. Noting one is a few
integer operations, whoever notes, in whatever thread, while others read.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

_PARTS_BITS: Final = 2  # A doubling is divided in so many bits' worth of buckets.
_BITS: Final = 36  # Longer than 2**36 us, 19 hours, counts as that.
_BUCKETS: Final = (_BITS + 1) << _PARTS_BITS


def _edge_us(bucket: int) -> int:
    """Where a bucket ends: what is noted there took less than that."""
    bits, part = bucket >> _PARTS_BITS, bucket & 3
    if bits <= _PARTS_BITS:
        return 1 << bits
    return (4 + part + 1) << (bits - 1 - _PARTS_BITS)


EDGES_S: Final = tuple(_edge_us(bucket) / 1e6 for bucket in range(_BUCKETS))
"""Where each bucket ends, in seconds."""


class Histogram:
    """How many took how long."""

    __slots__ = ("counts", "total_s")

    def __init__(self) -> None:
        self.counts = [0] * _BUCKETS
        self.total_s = 0.0

    @property
    def count(self) -> int:
        return sum(self.counts)

    def note(self, duration_s: float) -> None:
        """Count one. Less than nothing, where a clock was set back, counts as nothing."""
        us = int(duration_s * 1e6)
        if us <= 0:
            self.counts[0] += 1
            return
        self.total_s += duration_s
        bits = us.bit_length()
        if bits > _BITS:
            self.counts[-1] += 1
        elif bits <= _PARTS_BITS:
            self.counts[bits << _PARTS_BITS] += 1
        else:
            self.counts[bits << _PARTS_BITS | us >> (bits - 1 - _PARTS_BITS) & 3] += 1

    def quantile_s(self, share: float, since: Sequence[int] = ()) -> float:
        """What no more than ``share`` of all exceed not; 0 where there were none.

        ``since``: of those noted after ``counts`` was copied to that.
        """
        counts = self.counts
        if since:
            counts = [now - then for now, then in zip(counts, since, strict=True)]
        rank, seen = share * sum(counts), 0
        for bucket, count in enumerate(counts):
            seen += count
            if count and seen >= rank:
                return EDGES_S[bucket]
        return 0.0

    def up_to(self, duration_s: float) -> int:
        """How many took no longer, to within a bucket."""
        return sum(self.counts[: bisect_right(EDGES_S, duration_s)])
