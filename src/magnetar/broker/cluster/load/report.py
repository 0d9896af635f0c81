"""What a broker says of its load, and how much of the broker that takes. Pure."""

from collections.abc import Mapping
from dataclasses import field
from typing import Self

from magnetar.late_dataclass import dataclass
from magnetar.model.bundles import Bundle


@dataclass(frozen=True, slots=True)
class Traffic:
    """Messages and bytes, a second."""

    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0

    @property
    def messages(self) -> float:
        """Those in and those out."""
        return self.messages_in + self.messages_out

    @property
    def bytes(self) -> float:
        """Those in and those out."""
        return self.bytes_in + self.bytes_out

    def __add__(self, other: Self) -> "Traffic":
        return Traffic(
            self.messages_in + other.messages_in,
            self.bytes_in + other.bytes_in,
            self.messages_out + other.messages_out,
            self.bytes_out + other.bytes_out,
        )


UNKNOWN_BUNDLE = Traffic(50, 50_000, 50, 50_000)
"""What a bundle counts for at its broker before anything is known of it, as in Pulsar."""


@dataclass(frozen=True, slots=True)
class BundleLoad:
    """The load of one bundle."""

    traffic: Traffic = Traffic()
    topics: int = 0
    producers: int = 0
    consumers: int = 0

    @property
    def sessions(self) -> int:
        return self.producers + self.consumers


@dataclass(frozen=True, slots=True)
class Resource:
    """So much of a resource that has a limit; one without a limit is never used up."""

    usage: float = 0.0
    limit: float = 0.0

    @property
    def share(self) -> float:
        return self.usage / self.limit if self.limit > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each resource counts (``loadBalancer*ResourceWeight``)."""

    cpu: float = 1.0
    memory: float = 0.0
    direct_memory: float = 0.0
    bandwidth_in: float = 1.0
    bandwidth_out: float = 1.0


@dataclass(frozen=True, slots=True)
class Report:
    """The load of one broker."""

    cpu: Resource = Resource()
    memory: Resource = Resource()
    direct_memory: Resource = Resource()
    bandwidth_in: Resource = Resource()
    bandwidth_out: Resource = Resource()
    bundles: Mapping[Bundle, BundleLoad] = field(default_factory=dict)
    updated_ms: int = 0

    @property
    def traffic(self) -> Traffic:
        """That of all bundles."""
        return sum((each.traffic for each in self.bundles.values()), Traffic())

    @property
    def topics(self) -> int:
        """Those of all bundles."""
        return sum(each.topics for each in self.bundles.values())

    @property
    def sessions(self) -> int:
        """Producers and consumers of all bundles."""
        return sum(each.sessions for each in self.bundles.values())

    def usage(self, weights: Weights) -> float:
        """The resource that is used most, 1.0 for all of it: the one that ends first."""
        return max(
            self.cpu.share * weights.cpu,
            self.memory.share * weights.memory,
            self.direct_memory.share * weights.direct_memory,
            self.bandwidth_in.share * weights.bandwidth_in,
            self.bandwidth_out.share * weights.bandwidth_out,
        )

    def differs(self, other: Self, percent: float) -> bool:
        """Whether a number of this report is that much further than in another one.

        Resources are compared by their shares, the rest in proportion to what it was.
        """
        shares = max(
            abs(mine.share - its.share) * 100
            for mine, its in (
                (self.cpu, other.cpu),
                (self.memory, other.memory),
                (self.direct_memory, other.direct_memory),
                (self.bandwidth_in, other.bandwidth_in),
                (self.bandwidth_out, other.bandwidth_out),
            )
        )
        traffic, before = self.traffic, other.traffic
        return shares > percent or any(
            100 * abs(now - then) > percent * then
            for now, then in (
                (traffic.messages, before.messages),
                (traffic.bytes, before.bytes),
                (len(self.bundles), len(other.bundles)),
                (self.topics, other.topics),
                (self.sessions, other.sessions),
            )
        )


def averaged(
    before: Mapping[str, float], now: Mapping[str, float], history: float
) -> dict[str, float]:
    """The usage of brokers over time: ``history`` of what it was, and the rest of what it is."""
    return {
        name: history * before.get(name, usage) + (1 - history) * usage
        for name, usage in now.items()
    }
