"""The load of a cluster's brokers: each says what it has, and bundles are placed and moved by that.

A report is an ephemeral record, written anew when a number has changed much. Who is asked for a
bundle that nobody serves chooses by the reports, and names the broker in a note (``ownership.py``).
The broker that leads looks at all reports each minute, and has owners unload and split what the
rules in ``cluster/load`` say.
"""

import asyncio
import logging
import os
import re
import resource
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

from magnetar.broker.admin.overview import NamespaceSums, Totals, add_topic
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.load import report_json
from magnetar.broker.cluster.load.placement import (
    NO_DOMAIN,
    Candidate,
    IsolationPolicy,
    Matches,
    PlacementRules,
    place,
)
from magnetar.broker.cluster.load.report import (
    UNKNOWN_BUNDLE,
    BundleLoad,
    Report,
    Resource,
    Traffic,
    Weights,
)
from magnetar.broker.cluster.load.shedding import Shedding, SheddingRules
from magnetar.broker.cluster.load.splitting import SplitRules, Splitting
from magnetar.broker.cluster.membership import Membership
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.peers import Peers
from magnetar.broker.plain_patterns import plain_pattern
from magnetar.broker.resources import Resources
from magnetar.errors import InvalidValue, MagnetarError, NotReady
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.records import Json
from magnetar.model.system_topics import heartbeat_broker
from magnetar.rest.exchange import JSON, Request
from magnetar.storage.metadata import paths

from .settings.load import LoadSettings
from .settings.setting import MIB

log = logging.getLogger(__name__)

MEASURED_S: Final = 0.1
"""What CPU a shorter time took says nothing: a broker that has just begun would seem overloaded."""
NOT_TAKEN_S: Final = 30.0
"""A broker that was given a bundle and did not take it is not given it again for so long."""
COMING_S: Final = 5.0
"""So long after its start a broker waits for others that start with it."""
AGAIN_S: Final = 0.05
ANTI_AFFINITY: Final = "namespaceAntiAffinityGroup"


class LoadManager:
    """What this broker does about load, its own and, while it leads, that of all."""

    def __init__(
        self,
        member: Membership,
        brokers: Brokers,
        topics: TopicRegistry,
        *,
        resources: Resources,
        peers: Peers,
        settings: LoadSettings,
        cluster: str,
        brokers_to_come: int = 1,
    ) -> None:
        """``brokers_to_come``: so many are waited for at first, so that all get bundles."""
        self._member = member
        self._brokers = brokers
        self._topics = topics
        self._resources = resources
        self._peers = peers
        self._settings = settings
        self._cluster = cluster
        self._to_come = brokers_to_come
        self._come_by = member.clock.now() + COMING_S
        self._weights = Weights(
            cpu=settings.cpu_weight,
            memory=settings.memory_weight,
            bandwidth_in=settings.bandwidth_in_weight,
            bandwidth_out=settings.bandwidth_out_weight,
        )
        overloaded = settings.overloaded_percent / 100
        self._moving = PlacementRules("LeastResourceUsageWithWeight", overloaded)
        self._placing = self._moving if settings.by_usage else PlacementRules(overloaded=overloaded)
        self._shedding = Shedding(
            SheddingRules(
                threshold=settings.threshold_percent / 100,
                history=settings.history,
                bytes_min=settings.min_bytes,
                grace_s=settings.grace_minutes * 60,
                lower_boundary=settings.lower_boundary,
            )
        )
        self._splitting = Splitting(
            SplitRules(
                settings.split_topics,
                settings.split_sessions,
                settings.split_messages,
                settings.split_mb * MIB,
                settings.bundles_max,
                settings.split_hits,
                settings.splits_max,
            )
        )
        self.report = Report()
        """The last look at this broker's load."""
        self._written: Report | None = None
        self._totals: dict[TopicName, Totals] = {}
        self._cpu_s, self._at = _cpu_s(), member.clock.now()
        # What was placed and is in no report yet: where, and when.
        self._placed: dict[Bundle, tuple[str, float, int]] = {}

    def start(self) -> None:
        """Report, and look after the load of all while this broker leads."""
        self._topics.ownership.place_by(self.place)
        self._member.tasks.spawn(
            "load report", self._every(self._settings.usage_check_minutes, self.look)
        )
        self._member.tasks.spawn(
            "load balance", self._every(self._settings.shedding_minutes, self.balance)
        )

    async def place(self, bundle: Bundle, *, leaves: bool = False) -> BrokerAddress:
        """The broker for a bundle that nobody serves. Raises NotReady where none may have it.

        ``leaves``: it is of this broker, and is to have another one, where there is one.
        """
        own, now = self._member.own, self._member.clock.now()
        if (whose := heartbeat_broker(bundle.namespace)) is not None:
            return await self._named(whose)
        if not leaves and any(bundle.is_within(each) for each in self._topics.ownership.bundles):
            return own  # It is being split.
        brokers = {each.name: each for each in await self._all_that_come()}
        if not brokers:
            return own  # It is alone, and registers again just now.
        before = self._placed.get(bundle)
        if leaves:
            if len(brokers) > 1:
                brokers.pop(own.name, None)
        elif before is not None and before[0] != own.name and now - before[1] < NOT_TAKEN_S:
            brokers.pop(before[0], None)
        reports = await self._reports(brokers)
        usage = {name: each.usage(self._weights) for name, each in reports.items()}
        name = await self._choose(bundle.namespace, usage, reports, self._placing)
        if name is None:
            raise NotReady(f"No broker may serve {bundle}: see the isolation policies")
        self._placed[bundle] = (name, now, self._member.clock.wall_ms())
        return own if name == own.name else brokers[name]

    async def _named(self, name: str) -> BrokerAddress:
        """The broker whose heartbeat it is, and that alone serves it. Raises NotReady."""
        broker = (
            self._member.own if name == self._member.own.name else await self._brokers.get(name)
        )
        if broker is None:
            raise NotReady(f"The broker {name}, whose heartbeat this is, does not run")
        return broker

    async def _all_that_come(self) -> list[BrokerAddress]:
        """The brokers that run, once there are as many as there are to be."""
        while len(found := await self._brokers.all()) < self._to_come:
            if self._to_come == 1 or self._member.clock.now() >= self._come_by:
                break
            await self._member.clock.sleep(AGAIN_S)
        return found

    async def look(self) -> None:
        """Look at this broker's load, and write it down where it has changed much."""
        report = self.report = await self._measured()
        before = self._written
        age_ms = 0 if before is None else report.updated_ms - before.updated_ms
        if (
            before is None
            or age_ms >= self._settings.report_max_minutes * 60_000
            or report.differs(before, self._settings.report_percent)
        ):
            value = self._member.codec.encode_object(report_json.shown(report))
            path = paths.load_report(self._member.own.name)
            await self._member.metadata.put(path, value, ephemeral=True)
            self._written = report

    async def balance(self) -> None:
        """Move and split what should be, where this broker leads."""
        if await self._brokers.leader() != self._member.own:
            return
        brokers = {each.name: each for each in await self._brokers.all()}
        reports = await self._reports(brokers)
        if self._settings.shedding and len(brokers) > 1:
            await self._shed(brokers, reports)
        if self._settings.auto_split:
            await self._split(brokers, reports)

    async def _shed(
        self, brokers: Mapping[str, BrokerAddress], reports: Mapping[str, Report]
    ) -> None:
        usage = {name: each.usage(self._weights) for name, each in reports.items()}
        policies, domains = await self._policies(), await self._domains()
        related = {
            namespace: await self._related(namespace, reports)
            for namespace in {each.namespace for one in reports.values() for each in one.bundles}
        }

        def to(bundle: Bundle, expected: Mapping[str, float]) -> str | None:
            candidates = self._candidates(expected, reports, domains)
            its = related[bundle.namespace]
            found = place(candidates, str(bundle.namespace), policies, its, self._moving)
            return None if found is None else found.name

        def bundles_of(name: str) -> dict[Bundle, float]:
            return {
                bundle: load.traffic.bytes
                for bundle, load in reports[name].bundles.items()
                if bundle.namespace.tenant != "pulsar"
            }

        for move in self._shedding.look(self._member.clock.now(), usage, bundles_of, to):
            log.info("load.moved bundle=%s from=%s to=%s", *move)
            await self._ask(brokers[move.source], move.bundle, "unload", destinationBroker=move.to)

    async def _split(
        self, brokers: Mapping[str, BrokerAddress], reports: Mapping[str, Report]
    ) -> None:
        owners = {bundle: name for name, each in reports.items() for bundle in each.bundles}
        loads = {bundle: reports[name].bundles[bundle] for bundle, name in owners.items()}
        counts = {}
        for namespace in {bundle.namespace for bundle in loads}:
            policies = await self._resources.namespace(namespace)
            counts[namespace] = 0 if policies is None else len(policies.bundles.boundaries) - 1
        unload = str(self._settings.unload_split).lower()
        algorithm = self._settings.split_algorithm
        for bundle in self._splitting.look(loads, counts):
            log.info("load.split bundle=%s broker=%s", bundle, owners[bundle])
            await self._ask(
                brokers[owners[bundle]],
                bundle,
                "split",
                unload=unload,
                splitAlgorithmName=algorithm,
            )

    async def _ask(self, broker: BrokerAddress, bundle: Bundle, what: str, **query: str) -> None:
        """Have the owner of a bundle do something with it; a failure is for the next look."""
        path = f"/admin/v2/namespaces/{bundle.namespace}/{bundle.range}/{what}"
        try:
            answer = await self._peers.ask(broker, Request("PUT", path, query, content_type=JSON))
            if answer.status >= 300:
                raise NotReady(f"{broker.name} answered {answer.status}")
        except MagnetarError as error:
            log.warning("load.failed what=%s bundle=%s error=%s", what, bundle, error)

    async def _choose(
        self,
        namespace: NamespaceName,
        usage: Mapping[str, float],
        reports: Mapping[str, Report],
        rules: PlacementRules,
    ) -> str | None:
        domains, related, policies = await asyncio.gather(
            self._domains(), self._related(namespace, reports), self._policies()
        )
        candidates = self._candidates(usage, reports, domains)
        found = place(candidates, str(namespace), policies, related, rules)
        return None if found is None else found.name

    def _candidates(
        self,
        usage: Mapping[str, float],
        reports: Mapping[str, Report],
        domains: Mapping[str, str],
    ) -> list[Candidate]:
        self._placed = {
            bundle: where
            for bundle, where in self._placed.items()
            if self._member.clock.now() - where[1] < self._settings.report_max_minutes * 60
        }
        found = []
        for name, used in usage.items():
            report = reports[name]
            coming = sum(
                to == name and bundle not in report.bundles and at_ms >= report.updated_ms
                for bundle, (to, _, at_ms) in self._placed.items()
            )
            idle = sum(not each.traffic.messages for each in report.bundles.values())
            messages = report.traffic.messages + (coming + idle) * UNKNOWN_BUNDLE.messages
            bundles = len(report.bundles) + coming
            found.append(Candidate(name, used, messages, bundles, domains.get(name, NO_DOMAIN)))
        return found

    async def _reports(self, brokers: Mapping[str, BrokerAddress]) -> dict[str, Report]:
        """What each broker said last; nothing is the report of one that has just begun."""
        found = {}
        get = self._member.metadata.get
        records = await asyncio.gather(*(get(paths.load_report(name)) for name in brokers))
        for name, record in zip(brokers, records, strict=True):
            try:
                value = record and self._member.codec.decode_object(record.value)
                found[name] = report_json.read(value) if value else Report()
            except InvalidValue as error:
                log.warning("load.no_report broker=%s error=%s", name, error)
                found[name] = Report()
        return found

    async def _policies(self) -> Sequence[IsolationPolicy]:
        stored = await self._resources.objects.get(paths.isolation_policies(self._cluster)) or {}
        found = []
        for name, each in stored.items():
            try:
                found.append(_isolation(each))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                log.warning("load.policy_not_read name=%s error=%r", name, error)
        return found

    async def _domains(self) -> dict[str, str]:
        stored = await self._resources.objects.get(paths.failure_domains(self._cluster)) or {}
        return {broker: name for name, each in stored.items() for broker in each.get("brokers", ())}

    async def _related(
        self, namespace: NamespaceName, reports: Mapping[str, Report]
    ) -> dict[str, int]:
        """How many other namespaces of the same anti-affinity group each broker serves."""
        group = await self._group(namespace)
        if group is None:
            return {}
        found: dict[str, int] = {}
        for name, report in reports.items():
            its = {bundle.namespace for bundle in report.bundles}
            its |= {bundle.namespace for bundle, where in self._placed.items() if where[0] == name}
            found[name] = sum(
                [each != namespace and await self._group(each) == group for each in its]
            )
        return found

    async def _group(self, namespace: NamespaceName) -> str | None:
        stored = await self._resources.objects.get(paths.local_policies(namespace)) or {}
        group: str | None = stored.get(ANTI_AFFINITY)
        return group

    async def _measured(self) -> Report:
        now, cpu_s = self._member.clock.now(), _cpu_s()
        elapsed = max(now - self._at, 0.001)
        busy = (cpu_s - self._cpu_s) / elapsed if elapsed >= MEASURED_S else 0.0
        cpu = Resource(100 * busy, 100.0)  # One loop, one core.
        self._at, self._cpu_s = now, cpu_s
        sums = {bundle: NamespaceSums() for bundle in self._topics.ownership.bundles}
        totals = {}
        for name, topic in list(self._topics.loaded.items()):
            bundle = await self._resources.bundle(name)
            if bundle in sums:
                before = self._totals.get(name, (0, 0, 0, 0))
                totals[name] = add_topic(sums[bundle], topic, before)
        self._totals = totals
        for each in sums.values():
            each.divide(elapsed)
        bundles = {bundle: _load_of(each) for bundle, each in sums.items()}
        traffic = sum((each.traffic for each in bundles.values()), Traffic())
        limit = self._settings.nic_gbps * 1e6  # Kilobits, as Pulsar has them.
        return Report(
            cpu=cpu,
            memory=Resource(_memory_mb(), _memory_max_mb()),
            bandwidth_in=Resource(traffic.bytes_in * 8 / 1000, limit),
            bandwidth_out=Resource(traffic.bytes_out * 8 / 1000, limit),
            bundles=bundles,
            updated_ms=self._member.clock.wall_ms(),
        )

    async def _every(self, minutes: float, do: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await do()
            except MagnetarError as error:
                log.warning("load.failed what=%s error=%s", do.__name__, error)
            await self._member.clock.sleep(minutes * 60)


def _load_of(sums: NamespaceSums) -> BundleLoad:
    traffic = Traffic(sums.messages_in, sums.bytes_in, sums.messages_out, sums.bytes_out)
    return BundleLoad(traffic, sums.topics, sums.producers, sums.consumers)


def _isolation(stored: Json) -> IsolationPolicy:
    limits = stored["auto_failover_policy"]["parameters"]
    return IsolationPolicy(
        _patterns(stored["namespaces"]),
        _patterns(stored["primary"]),
        _patterns(stored.get("secondary", ())),
        int(limits["min_limit"]),
        float(limits["usage_threshold"]) / 100,
    )


def _patterns(texts: Sequence[str]) -> list[Matches]:
    found = (plain_pattern(text, "pattern of brokers or namespaces") for text in texts)
    return [partial(_matches, pattern) for pattern in found if pattern is not None]


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _memory_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _memory_max_mb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MIB
