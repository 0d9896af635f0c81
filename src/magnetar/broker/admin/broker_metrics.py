"""The metrics of the broker as a whole, as families of the Prometheus library.

This file is imported when metrics are first asked for, and the library with it.
"""

import gc
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.process_collector import ProcessCollector

from magnetar.broker.admin import (
    cluster_metrics,
    encoded_families,
    managed_ledger_metrics,
    transaction_metrics,
)
from magnetar.broker.admin.metric_families import QUANTILES, MetricFamilies, add_summary
from magnetar.broker.admin.services import MetricServices
from magnetar.broker.admin.topic_metrics import PERIOD, SUMMED, together
from magnetar.late_dataclass import dataclass
from magnetar.model.counts import LATENCIES_MS, OperationCounts, TraceCounts
from magnetar.model.log_damage import LogDamage
from magnetar.model.names import NamespaceName

_MS: Final = (1, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
_LOAD_QUANTILES: Final = {
    0.75: "75",
    0.95: "95",
    0.99: "99_",
    0.999: "99_9_",
    0.9999: "99_99_",
}
_SUMMED: Final = (
    "rate_in",
    "rate_out",
    "throughput_in",
    "throughput_out",
    "producers_count",
    "consumers_count",
    "subscriptions_count",
    "msg_backlog",
    "storage_size",
    "storage_logical_size",
    "storage_write_rate",
    "storage_read_rate",
)
"""Metrics of topics that are told of all topics together, too."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Sums over the topics of one scrape."""

    topics: Mapping[NamespaceName, int]
    sums: Mapping[NamespaceName, Sequence[float]]  # The values of SUMMED.
    system_bytes: Sequence[int]  # Into and out of system topics.
    evictions: Mapping[str, int]  # By the type of the backlog quota.


class BrokerMetrics:
    """Finds all families afresh, in parts."""

    def __init__(self, admin: MetricServices, seen: Seen) -> None:
        self._admin = admin
        self._seen = seen
        self._cluster = admin.broker.cluster
        self._started_s = admin.broker.health.started_ms / 1000
        self._make = MetricFamilies(
            admin.broker.cluster, admin.broker.address.name, self._started_s
        )

    def parts(self) -> Iterator[Iterator[Metric]]:
        yield self._sums()
        yield self._publish_latency()
        yield managed_ledger_metrics.of_cache(self._admin)
        yield self._connections()
        yield self._sign_ins()
        yield self._backlog_quotas()
        yield self._lookups()
        yield self._topic_loads()
        yield self._snapshots()
        yield self._schemas()
        yield transaction_metrics.of_coordinators(self._admin)
        yield self._metadata()
        yield cluster_metrics.of_stores(self._admin, self._make)
        yield self._own()
        yield self._process()
        if self._admin.broker.metrics.managed_ledgers:
            yield managed_ledger_metrics.of_namespaces(self._admin, self._seen.sums)

    def _sums(self) -> Iterator[Metric]:
        """What the topics of all namespaces sum up to."""
        make, topics, index = self._make, self._seen.topics, SUMMED.index
        totals = together(self._seen.sums.values()) or [0] * len(index)
        for name in _SUMMED:
            at = index[f"pulsar_{name}"]
            about = f"{SUMMED.columns[at].about} (all topics)"
            yield make.gauge(f"pulsar_broker_{name}", about, totals[at])
        yield make.gauge("pulsar_broker_topics_count", "open", sum(topics.values()))
        ways = (("in", "system_topic"), ("out", "system_subscription"))
        for (way, label), its in zip(ways, self._seen.system_bytes, strict=True):
            all_bytes = totals[index[f"pulsar_{way}_bytes_total"]]
            name = f"pulsar_broker_{way}_bytes_total"
            family = GaugeMetricFamily(
                name, "since the topics were loaded", labels=["cluster", label]
            )
            family.add_metric([self._cluster, "true"], its)
            family.add_metric([self._cluster, "false"], all_bytes - its)
            yield family
        counts = GaugeMetricFamily("pulsar_topics_count", "open", labels=["cluster", "namespace"])
        for namespace, count in topics.items():
            counts.add_metric([self._cluster, str(namespace)], count)
        yield counts

    def _publish_latency(self) -> Iterator[Metric]:
        written = self._admin.rates.written_by_all
        family = Metric("pulsar_broker_publish_latency", f"ms, {PERIOD}", "summary")
        edges = (*LATENCIES_MS, LATENCIES_MS[-1])
        within = list(accumulate(written.by_latency))
        for quantile in (0.0, *QUANTILES, 1.0):
            at = bisect_left(within, max(quantile * written.entries, 1))
            labels = {"cluster": self._cluster, "quantile": str(quantile)}
            family.add_sample(family.name, labels, edges[at] if written.entries else 0.0)
        labels = {"cluster": self._cluster}
        family.add_sample(f"{family.name}_count", labels, written.entries)
        family.add_sample(f"{family.name}_sum", labels, written.latency_ms)
        yield family

    def _connections(self) -> Iterator[Metric]:
        counts = self._admin.broker.health.connections
        found = {
            "pulsar_active_connections": counts.open,
            "pulsar_connection_created_total_count": counts.opened,
            "pulsar_connection_create_success_count": counts.opened - counts.refused,
            "pulsar_connection_create_fail_count": counts.refused,
            "pulsar_connection_closed_total_count": counts.closed,
        }
        for name, value in found.items():
            yield self._make.of_broker(name, "of clients", "broker_connection", value)
        health = self._admin.broker.health
        yield self._make.gauge(
            "pulsar_broker_throttled_connections",
            "not read, because their clients publish or ask too much",
            health.throttled_connections(),
        )
        yield self._make.gauge(
            "pulsar_broker_pending_bytes_to_dispatch",
            "written to connections, and not read by their clients",
            health.unwritten_bytes(),
        )
        last = self._admin.broker.health_check.last
        healthy = -1 if last is None else int(last)
        about = "1: the last health check succeeded, 0: it failed, -1: there was none"
        yield self._make.of_broker("pulsar_health", about, "broker_health", healthy)

    def _backlog_quotas(self) -> Iterator[Metric]:
        yield self._make.histogram(
            "pulsar_storage_backlog_quota_check_duration_seconds",
            "checks of all topics",
            self._admin.broker.health.backlog_checks,
            created=self._started_s,
        )
        family = GaugeMetricFamily(
            "pulsar_broker_storage_backlog_quota_exceeded_evictions_total",
            "how often messages went because of a backlog quota, since their topic was loaded",
            labels=["cluster", "quota_type"],
        )
        for kind in ("size", "time"):
            family.add_metric([self._cluster, kind], self._seen.evictions.get(kind, 0))
        yield family

    def _sign_ins(self) -> Iterator[Metric]:
        authentication = self._admin.broker.health.authentication
        if authentication is None:
            return
        for name, counts in (
            ("pulsar_authentication_success_total", authentication.succeeded),
            ("pulsar_authentication_failures_total", authentication.failed),
        ):
            labels = ["cluster", "auth_method"]
            family = CounterMetricFamily(name, "over both protocols", labels=labels)
            for method in ("none", *authentication.methods):
                family.add_metric([self._cluster, method], counts[method])
            yield family

    def _lookups(self) -> Iterator[Metric]:
        counts = self._admin.lookup.counts
        yield self._make.summary(
            "pulsar_broker_lookup", "lookups, in ms", counts.latency, self._make.labels()
        )
        for name, value in (
            ("pulsar_broker_lookup_answers", counts.latency.count),
            ("pulsar_broker_lookup_failures", counts.failed),
            ("pulsar_broker_lookup_redirects", 0),
        ):
            yield self._make.counter(name, "since the start", value, self._make.labels())
        yield self._make.gauge("pulsar_broker_lookup_pending_requests", "under way", counts.running)

    def _topic_loads(self) -> Iterator[Metric]:
        counts = self._admin.broker.topics.loads
        latency = counts.latency
        about = "loading of topics, in ms"
        yield self._make.summary("pulsar_topic_load_times", about, latency, self._make.labels())
        yield self._make.counter(
            "topic_load_failed", "since the start", counts.failed, self._make.labels()
        )
        yield self._make.gauge(
            "pulsar_broker_topic_load_pending_requests", "under way", counts.running
        )
        uptime_s = max(self._admin.broker.clock.now() - self._admin.broker.health.started_at, 1)
        found: dict[str, float] = {
            "pulsar_topic_load_failed_count": counts.failed,
            "pulsar_topic_load_rate_s": latency.count / uptime_s,
            "pulsar_topic_load_time_mean_ms": latency.total_s * 1000 / max(latency.count, 1),
            "pulsar_topic_load_time_median_ms": latency.quantile_s(0.5) * 1000,
        }
        for share, word in _LOAD_QUANTILES.items():
            quantile_ms = latency.quantile_s(share) * 1000
            found[f"pulsar_topic_load_time_{word}percentile_ms"] = quantile_ms
        for name, value in found.items():
            yield self._make.of_broker(name, "since the start", "topic_load_times", value)

    def _snapshots(self) -> Iterator[Metric]:
        """Of replicated subscriptions."""
        make, counts = self._make, self._admin.broker.topics.snapshots
        name, about = "pulsar_replicated_subscriptions_snapshot_ms", "that were taken, in ms"
        yield make.summary(name, about, counts.taken, make.labels())
        name = "pulsar_replicated_subscriptions_pending_snapshots"
        yield make.gauge(name, "not answered by all clusters yet", counts.pending)
        name = "pulsar_replicated_subscriptions_timedout_snapshots"
        yield make.counter(name, "given up, since the start", counts.timed_out, make.labels())

    def _schemas(self) -> Iterator[Metric]:
        for operation, attribute in (("get", "get"), ("put", "put"), ("del", "delete")):
            family = Metric(f"pulsar_schema_{operation}_ops_latency", "in ms", "summary")
            for namespace, counts in self._admin.schema_registry.counts.items():
                its: OperationCounts = getattr(counts, attribute)
                labels = self._make.labels(namespace=str(namespace))
                add_summary(family, its.latency, labels, created=self._started_s)
            yield family
        for name in ("compatible", "incompatible"):
            family = CounterMetricFamily(
                f"pulsar_schema_{name}", "versions brought", labels=["cluster", "namespace"]
            )
            for namespace, counts in self._admin.schema_registry.counts.items():
                values = [self._cluster, str(namespace)]
                family.add_metric(values, getattr(counts, name), created=self._started_s)
            yield family

    def _metadata(self) -> Iterator[Metric]:
        labels = ["cluster", "name", "type", "status"]
        family = HistogramMetricFamily(
            "pulsar_metadata_store_ops_latency_ms", "operations on metadata", labels=labels
        )
        health = self._admin.broker.health
        stores = {"metadata-store": health.metadata}
        for session in () if health.cluster is None else health.cluster.sessions:
            stores[session.name] = session.operations
        for name, kind, counts in (
            (name, *each) for name, its in stores.items() for each in its.items()
        ):
            buckets = [(str(float(ms)), counts.latency.up_to(ms / 1000)) for ms in _MS]
            buckets.append(("+Inf", counts.latency.count))
            family.add_metric(
                [self._cluster, name, kind, "success"],
                buckets,
                sum_value=counts.latency.total_s * 1000,
            )
            labelled = {"name": name, "type": kind, "status": "success"}
            family.add_sample(
                f"{family.name}_created", self._make.labels(**labelled), self._started_s
            )
        yield family
        yield self._make.counter(
            "pulsar_metadata_store_put_bytes",
            "bytes of records",
            self._admin.broker.health.metadata_put_bytes(),
            self._make.labels(name="metadata-store"),
        )

    def _own(self) -> Iterator[Metric]:
        health = self._admin.broker.health
        yield self._make.histogram("magnetar_loop_lag_seconds", "the event loop", health.loop_lag)
        yield self._make.histogram(
            "magnetar_gc_pause_seconds", "garbage collections", health.gc_pauses
        )
        if health.sync_latency is not None:
            yield self._make.histogram(
                "magnetar_fsync_seconds", "syncs of the log", health.sync_latency
            )
        written = self._admin.rates.written_since_start
        family = HistogramMetricFamily(
            "magnetar_publish_latency_seconds",
            "from a message's arrival until it is stored, added up with each statistics period",
            labels=["cluster"],
        )
        within, buckets = 0, []
        for ms, count in zip(LATENCIES_MS, written.by_latency, strict=False):
            within += count
            buckets.append((str(ms / 1000), within))
        buckets.append(("+Inf", written.entries))
        family.add_metric([self._cluster], buckets, sum_value=written.latency_ms / 1000)
        yield family
        writable = 0 if health.write_error() else 1
        yield self._make.gauge("magnetar_log_writable", "1: the last write succeeded", writable)
        yield from self._damage(health.damage)
        if health.traces is not None:
            yield from self._traces(health.traces)
        certificates = health.certificates()
        if certificates:
            ends = GaugeMetricFamily(
                "magnetar_tls_certificate_expires_timestamp_seconds",
                "when the certificates end that a setting names, in seconds since 1970",
                labels=["cluster", "setting"],
            )
            for one in certificates:
                ends.add_metric([self._cluster, one.setting], one.end.timestamp())
            yield ends
        listeners = len(self._admin.broker.events)
        yield self._make.gauge(
            "magnetar_event_listeners", "clients that listen to events", listeners
        )
        disk = health.disk_seen
        if disk is not None:
            yield self._make.gauge("magnetar_disk_free_bytes", "of dataDirectory", disk.free_bytes)
            yield self._make.gauge(
                "magnetar_disk_total_bytes", "of dataDirectory", disk.total_bytes
            )

    def _damage(self, damage: LogDamage) -> Iterator[Metric]:
        found = {
            "magnetar_log_damaged_records": ("answered, and not readable", damage.records),
            "magnetar_log_cut_records": (
                "at the end of the log, cut off and maybe answered",
                damage.maybe_answered.records,
            ),
            "magnetar_log_cut_entries": (
                "in those records, as far as they could be read",
                damage.maybe_answered.entries,
            ),
        }
        for name, (about, value) in found.items():
            yield self._make.gauge(name, f"found by the start: {about}", value)

    def _traces(self, counts: TraceCounts) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "magnetar_trace_spans", "spans, by what became of them", labels=["cluster", "outcome"]
        )
        for outcome in ("exported", "failed", "dropped"):
            family.add_metric([self._cluster, outcome], getattr(counts, outcome))
        yield family
        what = "publishes, deliveries and requests that were too many to be traced"
        yield self._make.counter(
            "magnetar_traces_skipped", what, counts.skipped, self._make.labels()
        )

    def _process(self) -> Iterator[Metric]:
        for family in ProcessCollector(registry=None).collect():
            family.samples = [
                each._replace(labels={**each.labels, "cluster": self._cluster})
                for each in family.samples
            ]
            yield family
        collections = CounterMetricFamily(
            "python_gc_collections", "garbage collections", labels=["cluster", "generation"]
        )
        for generation, stats in enumerate(gc.get_stats()):
            collections.add_metric([self._cluster, str(generation)], stats["collections"])
        yield collections
        version = GaugeMetricFamily(
            "pulsar_version_info", "of Magnetar", labels=["cluster", "version", "commit"]
        )
        version.add_metric([self._cluster, self._admin.broker.version, ""], 1)
        yield version


def encoded(admin: MetricServices, seen: Seen, accept: str) -> tuple[Iterator[bytes], str]:
    """All families in the format that a client accepts, one by one, and its content type."""
    encode, content_type = choose_encoder(accept)
    families = chain.from_iterable(BrokerMetrics(admin, seen).parts())
    known = admin.scrapes.families.setdefault(content_type, {})
    return encoded_families.encoded(families, known, encode), content_type
