"""The whole broker in one look: what all open topics do, summed by namespace.

A look passes over all open topics once and gives way to others on the way. What it finds is kept,
and shown to everybody who asks within a second.
"""

import logging
from dataclasses import field, fields
from typing import Any, Final, TypeAlias

from magnetar.broker.admin.broker_health import BrokerHealth, Disk
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.resources import Resources
from magnetar.broker.topics.topic import Topic
from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.histogram import Histogram
from magnetar.model.names import NamespaceName, TopicName

log = logging.getLogger(__name__)

FRESH_S: Final = 1.0
"""A look is shown again for so long."""
COUNTED_S: Final = 10.0
"""How long tenants, namespaces and the free disk space are not asked for again."""
WINDOW_S: Final = 60.0
"""Quantiles are those of the last one to two of these."""
SYNCS_MIN: Final = 20
"""Of fewer the quantiles say nothing about a disk."""
TOPICS_PER_TURN: Final = 50  # Then the loop serves others.
PAUSE_S: Final = 0.001
"""So long: the thread of the log needs the interpreter, which a busy loop leaves to nobody."""

Totals: TypeAlias = tuple[int, int, int, int]
_NOTHING: Final[Totals] = (0, 0, 0, 0)
Sight: TypeAlias = frozenset[NamespaceName] | None
"""Which namespaces somebody may see; None: everything."""


@dataclass(slots=True)
class NamespaceSums:
    """What the open topics of a namespace have and do, the last four in a second."""

    topics: int = 0
    subscriptions: int = 0
    producers: int = 0
    consumers: int = 0
    backlog_entries: int = 0
    storage_bytes: int = 0
    messages_in: float = 0.0
    bytes_in: float = 0.0
    messages_out: float = 0.0
    bytes_out: float = 0.0

    def add(self, other: "NamespaceSums") -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def divide(self, elapsed_s: float) -> None:
        """What was done in so many seconds becomes what is done in one."""
        self.messages_in /= elapsed_s
        self.bytes_in /= elapsed_s
        self.messages_out /= elapsed_s
        self.bytes_out /= elapsed_s


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the broker."""

    at: float  # By ``Clock.now``.
    time_ms: int
    elapsed_s: float  # Since the look before: the time that the rates are of.
    sums: dict[NamespaceName, NamespaceSums]
    namespaces: list[NamespaceName]
    disk: Disk | None


@dataclass(slots=True)
class _Found:
    """Sums over the open topics."""

    sums: dict[NamespaceName, NamespaceSums] = field(default_factory=dict)
    totals: dict[TopicName, Totals] = field(default_factory=dict)


@dataclass(slots=True)
class _Windows:
    """The counts of a histogram when the last two windows began."""

    histogram: Histogram
    began: float
    before: list[int] = field(init=False)
    last: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.before = self.last = list(self.histogram.counts)

    def turn(self, now: float) -> None:
        if now - self.began >= WINDOW_S:
            self.began, self.before, self.last = now, self.last, list(self.histogram.counts)

    @property
    def count(self) -> int:
        return sum(self.histogram.counts) - sum(self.before)

    def shown(self) -> dict[str, float]:
        quantile_s, before = self.histogram.quantile_s, self.before
        return {
            "p50Ms": round(quantile_s(0.5, before) * 1000, 3),
            "p99Ms": round(quantile_s(0.99, before) * 1000, 3),
        }


class Overview:
    """Looks at the broker."""

    def __init__(
        self, registry: TopicRegistry, resources: Resources, health: BrokerHealth, clock: Clock
    ) -> None:
        self._registry = registry
        self._resources = resources
        self._health = health
        self._clock = clock
        self._totals: dict[TopicName, Totals] = {}
        self._last = Snapshot(health.started_at, 0, 0.0, {}, [], None)
        self._counted_at: float | None = None
        now = clock.now()
        self._lag = _Windows(health.loop_lag, now)
        latency = health.sync_latency
        self._sync = None if latency is None else _Windows(latency, now)

    async def look(self) -> Snapshot:
        """A look that is not older than ``FRESH_S``."""
        if self._last.time_ms and self._clock.now() - self._last.at < FRESH_S:
            return self._last
        began = self._last
        topics = await self._pass()
        namespaces, disk = began.namespaces, began.disk
        now = self._clock.now()
        if self._counted_at is None or now - self._counted_at >= COUNTED_S:
            self._counted_at = now
            namespaces, disk = await self._namespaces(namespaces), await self._health.disk()
        if self._last is not began:
            return self._last  # Somebody else has looked meanwhile.
        self._last = self._noted(topics, namespaces, disk)
        return self._last

    async def keep(self) -> None:
        """Look once a minute, so that rates are of no longer time, for ever."""
        while True:
            await self._clock.sleep(WINDOW_S)
            await self.look()

    def sync_ms(self) -> tuple[float, float] | None:
        """p50 and p99 of the log's syncs in the last minutes; None where there were too few."""
        if self._sync is None or self._sync.count < SYNCS_MIN:
            return None
        said = self._sync.shown()
        return said["p50Ms"], said["p99Ms"]

    def shown(self, look: Snapshot, sight: Sight = None, **broker: Any) -> dict[str, Any]:
        """A look as JSON, as far as somebody sees; ``broker`` is shown with it.

        How the machine fares is shown to who sees everything.
        """
        total = NamespaceSums()
        for namespace, sums in look.sums.items():
            if sight is None or namespace in sight:
                total.add(sums)
        seen = [each for each in look.namespaces if sight is None or each in sight]
        return {
            **broker,
            "time": look.time_ms,
            "uptimeSeconds": round(look.at - self._health.started_at, 3),
            "rates": {
                "seconds": round(look.elapsed_s, 3),
                "msgRateIn": total.messages_in,
                "msgThroughputIn": total.bytes_in,
                "msgRateOut": total.messages_out,
                "msgThroughputOut": total.bytes_out,
            },
            "msgBacklog": total.backlog_entries,
            "storageSize": total.storage_bytes,
            "counts": {
                "tenants": len({each.tenant for each in seen}),
                "namespaces": len(seen),
                "topics": total.topics,
                "subscriptions": total.subscriptions,
                "producers": total.producers,
                "consumers": total.consumers,
            },
            **(self._machine(look) if sight is None else {}),
        }

    def _machine(self, look: Snapshot) -> dict[str, Any]:
        disk = look.disk
        return {
            "connections": self._health.connections.open,
            "loopLag": self._lag.shown(),
            "fsync": None if self._sync is None else self._sync.shown(),
            "memoryBytes": self._health.memory_bytes(),
            "disk": disk and {"freeBytes": disk.free_bytes, "totalBytes": disk.total_bytes},
        }

    async def _pass(self) -> _Found:
        """Look at every open topic."""
        before, found = self._totals, _Found()
        for count, (name, topic) in enumerate(list(self._registry.loaded.items()), start=1):
            sums = found.sums.get(name.namespace)
            if sums is None:
                sums = found.sums[name.namespace] = NamespaceSums()
            found.totals[name] = add_topic(sums, topic, before.get(name, _NOTHING))
            if count % TOPICS_PER_TURN == 0:
                await self._clock.sleep(PAUSE_S)
        return found

    def _noted(self, found: _Found, namespaces: list[NamespaceName], disk: Disk | None) -> Snapshot:
        now = self._clock.now()
        elapsed = max(now - self._last.at, 1e-3)
        self._totals = found.totals
        for sums in found.sums.values():
            sums.divide(elapsed)
        self._lag.turn(now)
        if self._sync is not None:
            self._sync.turn(now)
        return Snapshot(now, self._clock.wall_ms(), elapsed, found.sums, namespaces, disk)

    async def _namespaces(self, known: list[NamespaceName]) -> list[NamespaceName]:
        """All of them; those that were known, where the metadata cannot be read."""
        try:
            tenants = await self._resources.tenants()
            return [each for tenant in tenants for each in await self._resources.namespaces(tenant)]
        except MagnetarError as error:
            log.warning("overview.failed error=%s", error)
            return known


def add_topic(sums: NamespaceSums, topic: Topic, before: Totals) -> Totals:
    """Add what a topic has, and what it did since; return its totals since it was loaded."""
    removed = topic.removed_totals
    messages, size = removed.message_count, removed.size_bytes
    sums.topics += 1
    sums.subscriptions += len(topic.subscriptions)
    sums.producers += len(topic.producers)
    sums.storage_bytes += topic.storage_bytes
    for subscription in topic.subscriptions.values():
        sums.consumers += len(subscription.consumers)
        sums.backlog_entries += subscription.backlog
        left = subscription.closed_totals
        messages, size = messages + left.message_count, size + left.size_bytes
        for consumer in subscription.consumers:
            messages += consumer.totals.message_count
            size += consumer.totals.size_bytes
    totals = (topic.message_count, topic.size_bytes, messages, size)
    # A total below the last one started again from 0: the topic was unloaded meanwhile.
    grown = [new - old if new >= old else new for new, old in zip(totals, before, strict=True)]
    sums.messages_in += grown[0]
    sums.bytes_in += grown[1]
    sums.messages_out += grown[2]
    sums.bytes_out += grown[3]
    return totals
