"""Which consumer of an Exclusive or Failover subscription is the active one. Pure.

Only consumers of the best priority (the lowest number) are candidates, ordered by name. On a
partition its index picks one, so that a topic's partitions spread over its consumers. Elsewhere
each candidate marks 100 points on a ring, and the topic's name picks the next point at or above
its own hash: the choice moves little when consumers come and go. Both rules are Pulsar's. A third
one is ours, for topics without partitions: the candidate that has been there for longest.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

from magnetar.model.hashing import murmur3_32

from .blocked import C

POINTS: Final = 100


def choose(
    consumers: Sequence[C],
    *,
    topic: str,
    partition_index: int,
    consistent_hashing: bool,
    longest_there: bool = False,
) -> C:
    """The consumer that is to be active, of at least one, oldest first; of equal names the first.

    ``partition_index`` is -1 on a topic without partitions, which uses the ring whatever
    ``consistent_hashing`` says, unless the one that is ``longest_there`` is asked for.
    """
    assert consumers, "nobody to choose from: ask only while a consumer is connected"
    best = min(consumer.priority for consumer in consumers)
    candidates = [consumer for consumer in consumers if consumer.priority == best]
    if longest_there and partition_index < 0:
        return candidates[0]
    candidates.sort(key=attrgetter("name"))
    if partition_index >= 0 and not consistent_hashing:
        return candidates[partition_index % len(candidates)]
    # Where two points fall together the later name holds the place.
    ring = {point: consumer for consumer in candidates for point in _points_of(consumer.name)}
    points = sorted(ring)
    place = bisect_left(points, murmur3_32(topic.encode()))
    return ring[points[place % len(points)]]


@lru_cache(maxsize=4096)
def _points_of(name: str) -> tuple[int, ...]:
    return tuple(murmur3_32(f"{name}{point}".encode()) for point in range(POINTS))
