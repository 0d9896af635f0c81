"""Which bundles are split, because they have grown too much for one. Pure."""

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise

from magnetar.late_dataclass import dataclass
from magnetar.model.bundles import Bundle, hash_of
from magnetar.model.names import NamespaceName, TopicName

from .report import BundleLoad


@dataclass(frozen=True, slots=True)
class SplitRules:
    """What one bundle may have, and how many a namespace may."""

    topics: int = 1000
    sessions: int = 1000
    messages: float = 30_000
    bytes: float = 100 * (1 << 20)
    bundles_max: int = 128
    hits: int = 3
    at_once_max: int = 10

    def too_much(self, load: BundleLoad) -> bool:
        """Whether a bundle has more than one should, and two topics at least to be parted."""
        return load.topics > 1 and (
            load.topics > self.topics
            or load.sessions > self.sessions > 0
            or load.traffic.messages > self.messages
            or load.traffic.bytes > self.bytes
        )


class Splitting:
    """Decides at each look what is split: what was too much several times running."""

    def __init__(self, rules: SplitRules) -> None:
        self._rules = rules
        self._hits: Counter[Bundle] = Counter()

    def look(
        self, loads: Mapping[Bundle, BundleLoad], counts: Mapping[NamespaceName, int]
    ) -> list[Bundle]:
        """The bundles to split, the busiest first; ``counts`` are those of each namespace."""
        over = {bundle: load for bundle, load in loads.items() if self._rules.too_much(load)}
        self._hits = Counter({bundle: self._hits[bundle] + 1 for bundle in over})
        due = [bundle for bundle, hits in self._hits.items() if hits >= self._rules.hits]
        found: list[Bundle] = []
        added: Counter[NamespaceName] = Counter()
        for bundle in sorted(due, key=lambda each: (-over[each].traffic.messages, each)):
            there = counts.get(bundle.namespace, 0) + added[bundle.namespace]
            if there < self._rules.bundles_max and len(found) < self._rules.at_once_max:
                found.append(bundle)
                added[bundle.namespace] += 1
                del self._hits[bundle]
        return found


def halved_by_traffic(bundle: Bundle, loads: Mapping[TopicName, float]) -> set[int]:
    """Where to split so that both parts have about half of the traffic.

    Nowhere with one topic, or without traffic. The boundary lies between two topics, in the middle
    of their hashes.
    """
    topics = sorted((hash_of(name), load) for name, load in loads.items() if bundle.holds(name))
    total, before, found = sum(load for _, load in topics), 0.0, None
    for (place, load), (following, _) in pairwise(topics):
        before += load
        if place == following:
            continue
        unevenness = abs(total - 2 * before)
        if found is None or unevenness < found[0]:
            found = unevenness, place + (following - place + 1) // 2
    return {found[1]} if found is not None and total else set()
