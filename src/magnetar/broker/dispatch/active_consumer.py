"""Which consumer of an Exclusive or Failover subscription is the active one. Pure.

Only consumers of the best priority (the lowest number) are candidates, ordered by name. On a
partition its index picks one, so that a topic's partitions spread over its consumers. Elsewhere
each candidate marks 100 points on a ring, and the topic's name picks the next point at or above
its own hash: the choice moves little when consumers come and go. Both rules are Pulsar's.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeVar

from magnetar.model.hashing import murmur3_32

K = TypeVar("K")

POINTS = 100

Candidate = tuple[int, str, K]
"""Priority level, consumer name, and what stands for the consumer."""


def choose(
    candidates: Sequence[Candidate[K]],
    *,
    topic: str,
    partition_index: int,
    consistent_hashing: bool,
) -> K:
    """The consumer that is to be active, of at least one candidate.

    ``partition_index`` is -1 on a topic without partitions; such a topic always uses the ring.
    """
    assert candidates, "nobody to choose from: ask only while a consumer is connected"
    best = min(priority for priority, _, _ in candidates)
    ordered = sorted(
        (name, at) for at, (priority, name, _) in enumerate(candidates) if priority == best
    )
    if partition_index >= 0 and not consistent_hashing:
        _, at = ordered[partition_index % len(ordered)]
        return candidates[at][2]
    # Where two points fall together the later name holds the place.
    ring = {point: at for name, at in ordered for point in _points_of(name)}
    points = sorted(ring)
    place = bisect_left(points, murmur3_32(topic.encode()))
    return candidates[ring[points[place % len(points)]]][2]


@lru_cache(maxsize=4096)
def _points_of(name: str) -> tuple[int, ...]:
    return tuple(murmur3_32(f"{name}{point}".encode()) for point in range(POINTS))
