"""Bundles: the topics of a namespace, divided by the hashes of their names. Pure.

A bundle is what a broker owns: it is looked up, opened, unloaded and lost as one. Hashes are 32
bits, unsigned. A bundle has its lower bound and not its upper one; the last has both.
"""

import re
import zlib
from bisect import bisect_right
from collections.abc import Collection, Iterable
from itertools import pairwise
from typing import Any, NamedTuple, Self

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model import jackson
from magnetar.model.names import NamespaceName, TopicName

BUNDLES_DEFAULT = 4
BUNDLES_MAX = 4096  # All bundles of a namespace are one record.
RING_END = 0xFFFF_FFFF

_RANGE = re.compile("0x[0-9a-fA-F]{8}_0x[0-9a-fA-F]{8}")


class Bundle(NamedTuple):
    """One bundle of a namespace; as text ``tenant/namespace/0x00000000_0x40000000``."""

    namespace: NamespaceName
    low: int
    high: int

    @property
    def range(self) -> str:
        """The bundle's bounds as text."""
        return f"0x{self.low:08x}_0x{self.high:08x}"

    def __str__(self) -> str:
        return f"{self.namespace}/{self.range}"

    def holds(self, topic: TopicName) -> bool:
        """Whether a topic lies in it."""
        return topic.namespace == self.namespace and self.holds_hash(hash_of(topic))

    def holds_hash(self, number: int) -> bool:
        return self.low <= number < self.high or number == self.high == RING_END

    def is_within(self, whole: "Bundle") -> bool:
        """Whether it is a part of another bundle, or that."""
        return (
            self.namespace == whole.namespace and whole.low <= self.low and self.high <= whole.high
        )

    def split_at(self, boundaries: Iterable[int]) -> "list[Bundle]":
        """Split the bundle at these hashes; those outside it are left out."""
        inside = sorted({each for each in boundaries if self.low < each < self.high})
        return [
            Bundle(self.namespace, *bounds) for bounds in pairwise((self.low, *inside, self.high))
        ]


@dataclass(frozen=True, slots=True)
class Bundles:
    """The bundles of a namespace: ranges of topic hashes without gaps or overlaps."""

    boundaries: tuple[int, ...]  # Invariant: ascending, from 0 to RING_END.

    @classmethod
    def even(cls, count: int) -> Self:
        """``count`` bundles of the same width."""
        if not 1 <= count <= BUNDLES_MAX:
            raise InvalidValue(f"a namespace has 1 to {BUNDLES_MAX} bundles, not {count}")
        width = (RING_END + 1) // count
        return cls((*(index * width for index in range(count)), RING_END))

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        texts = value.get("boundaries")
        if not texts:
            count = jackson.whole(value.get("numBundles"), "numBundles") or 0
            return cls.even(count if count > 0 else BUNDLES_DEFAULT)
        try:
            boundaries = tuple(sorted({int(text, 16) for text in texts}))
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"Invalid bundle boundaries: {texts}") from error
        if len(boundaries) < 2 or boundaries[0] != 0 or boundaries[-1] != RING_END:
            raise InvalidValue(
                f"Invalid bundle boundaries: {texts} must reach from 0x00000000 to 0xffffffff"
            )
        return cls(boundaries)

    def to_json(self) -> dict[str, Any]:
        texts = [f"0x{boundary:08x}" for boundary in self.boundaries]
        return {"boundaries": texts, "numBundles": len(texts) - 1}

    def of(self, namespace: NamespaceName) -> list[Bundle]:
        """Each of them, as bundles of this namespace."""
        return [Bundle(namespace, *bounds) for bounds in pairwise(self.boundaries)]

    def bundle_of(self, topic: TopicName) -> Bundle:
        """The bundle in which a topic lies."""
        upper = min(bisect_right(self.boundaries, hash_of(topic)), len(self.boundaries) - 1)
        return Bundle(topic.namespace, *self.boundaries[upper - 1 : upper + 1])

    def named(self, text: str, namespace: NamespaceName) -> Bundle:
        """The bundle of this range. Raises InvalidValue, in Pulsar's words."""
        if not _RANGE.fullmatch(text):
            raise InvalidValue(f"Invalid bundle range: {text}")
        low, high = (int(bound, 16) for bound in text.split("_"))
        if low not in self.boundaries[:-1]:
            raise InvalidValue(f"Cannot find bundle {namespace}/{text} in the bundles list")
        bundle = Bundle(namespace, low, self.boundaries[self.boundaries.index(low) + 1])
        if high != bundle.high:
            raise InvalidValue(
                f"Invalid upper boundary for bundle {namespace}/{text}. Expected upper boundary of "
                f"{bundle}"
            )
        return bundle

    def split_at(self, boundaries: Iterable[int]) -> "Bundles":
        """Split bundles at these hashes. Raises InvalidValue."""
        split = tuple(sorted({*self.boundaries, *boundaries}))
        if not len(split) - 1 <= BUNDLES_MAX or split[-1] != RING_END:
            raise InvalidValue(f"a namespace has 1 to {BUNDLES_MAX} bundles, up to 0x{RING_END:x}")
        return Bundles(split)


def hash_of(topic: TopicName) -> int:
    """Where a topic is among the bundles of its namespace: a hash of its name, of 32 bits."""
    return zlib.crc32(str(topic).encode())


def halved(bundle: Bundle) -> set[int]:
    """Where the second half of a bundle begins; nowhere in one that is too narrow."""
    middle = bundle.low + (bundle.high - bundle.low + 1) // 2
    return {middle} if bundle.low < middle < bundle.high else set()


def halved_by_count(bundle: Bundle, topics: Collection[TopicName]) -> set[int]:
    """Where to split so that each part has half of the topics; nowhere with fewer than two."""
    from statistics import median_low  # noqa: PLC0415 - bundles are seldom split

    return split_where({median_low(map(hash_of, topics)) + 1} if topics else set(), bundle, topics)


def split_where(asked: set[int], bundle: Bundle, topics: Collection[TopicName]) -> set[int]:
    """The hashes that lie within a bundle; none, as in Pulsar, with fewer than two topics."""
    return {each for each in asked if bundle.low < each < bundle.high} if len(topics) > 1 else set()
