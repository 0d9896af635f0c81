"""The metrics of the broker as a whole, as families of the Prometheus library.

This file is imported when metrics are first asked for, and the library with it.
"""

import gc
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import HistogramMetricFamily
from prometheus_client.process_collector import ProcessCollector

from magnetar.broker.admin.services import AdminServices
from magnetar.broker.admin.topic_metrics import SUMMED
from magnetar.model.histogram import Histogram
from magnetar.model.names import NamespaceName
from magnetar.model.operation_counts import OperationCounts
from magnetar.model.trace_counts import TraceCounts
from magnetar.model.write_counts import LATENCIES_MS

QUANTILES: Final = (0.5, 0.75, 0.95, 0.99, 0.999, 0.9999)
_PULSAR_LATENCIES: Final = (0.0, 0.5, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 1000.0)
_PULSAR_SIZES: Final = (0, 128, 512, 1024, 2084, 4096, 16384, 102400, 1232896)
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_MS: Final = (1, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 5000)
_LOAD_QUANTILES: Final = {
    0.75: "75",
    0.95: "95",
    0.99: "99_",
    0.999: "99_9_",
    0.9999: "99_99_",
}
_INDEX: Final = {column.name: at for at, column in enumerate(SUMMED)}
_BROKER_SUMS: Final = {
    "pulsar_broker_rate_in": "pulsar_rate_in",
    "pulsar_broker_rate_out": "pulsar_rate_out",
    "pulsar_broker_throughput_in": "pulsar_throughput_in",
    "pulsar_broker_throughput_out": "pulsar_throughput_out",
    "pulsar_broker_producers_count": "pulsar_producers_count",
    "pulsar_broker_consumers_count": "pulsar_consumers_count",
    "pulsar_broker_subscriptions_count": "pulsar_subscriptions_count",
    "pulsar_broker_msg_backlog": "pulsar_msg_backlog",
    "pulsar_broker_storage_size": "pulsar_storage_size",
    "pulsar_broker_storage_logical_size": "pulsar_storage_logical_size",
    "pulsar_broker_storage_write_rate": "pulsar_storage_write_rate",
    "pulsar_broker_storage_read_rate": "pulsar_storage_read_rate",
}
END: Final = b"# EOF\n"  # Of what is told as OpenMetrics.
_PERIOD: Final = "of the last whole statsUpdateFrequencyInSecs"


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found on the way through the topics."""

    topics: Mapping[NamespaceName, int]
    sums: Mapping[NamespaceName, Sequence[float]]  # The values of SUMMED.
    system_bytes: Sequence[int]  # Into and out of system topics.
    evictions: Mapping[str, int]  # By the type of the backlog quota.


class BrokerMetrics:
    """Finds all families afresh, in parts."""

    def __init__(self, admin: AdminServices, seen: Seen) -> None:
        self._admin = admin
        self._seen = seen
        self._cluster = admin.cluster
        self._started_s = admin.vitals.started_ms / 1000

    def parts(self) -> Iterator[Iterator[Metric]]:
        yield self._sums()
        yield self._storage()
        yield self._connections()
        yield self._sign_ins()
        yield self._backlog_quotas()
        yield self._lookups()
        yield self._topic_loads()
        yield self._schemas()
        yield self._metadata()
        yield self._own()
        yield self._process()
        if self._admin.metrics.managed_ledgers:
            yield self._managed_ledgers()

    def _sums(self) -> Iterator[Metric]:
        totals = [sum(each) for each in zip(*self._seen.sums.values(), strict=True)]
        totals = totals or [0] * len(SUMMED)
        for name, summed in _BROKER_SUMS.items():
            index = _INDEX[summed]
            about = f"{SUMMED[index].about} (all topics)"
            yield self._gauge(name, about, totals[index])
        yield self._gauge("pulsar_broker_topics_count", "open", sum(self._seen.topics.values()))
        for way, label, at in (("in", "system_topic", 0), ("out", "system_subscription", 1)):
            its = self._seen.system_bytes[at]
            all_bytes = totals[_INDEX[f"pulsar_{way}_bytes_total"]]
            name = f"pulsar_broker_{way}_bytes_total"
            family = GaugeMetricFamily(
                name, "since the topics were loaded", labels=["cluster", label]
            )
            family.add_metric([self._cluster, "true"], its)
            family.add_metric([self._cluster, "false"], all_bytes - its)
            yield family
        topics = GaugeMetricFamily("pulsar_topics_count", "open", labels=["cluster", "namespace"])
        for namespace, count in self._seen.topics.items():
            topics.add_metric([self._cluster, str(namespace)], count)
        yield topics
        yield self._publish_latency()

    def _publish_latency(self) -> Metric:
        written = self._admin.rates.written_by_all
        family = Metric("pulsar_broker_publish_latency", f"ms, {_PERIOD}", "summary")
        edges = (*LATENCIES_MS, LATENCIES_MS[-1])
        within = list(accumulate(written.by_latency))
        for quantile in (0.0, *QUANTILES, 1.0):
            at = bisect_left(within, max(quantile * written.entries, 1))
            labels = {"cluster": self._cluster, "quantile": str(quantile)}
            family.add_sample(family.name, labels, edges[at] if written.entries else 0.0)
        labels = {"cluster": self._cluster}
        family.add_sample(f"{family.name}_count", labels, written.entries)
        family.add_sample(f"{family.name}_sum", labels, written.latency_ms)
        return family

    def _storage(self) -> Iterator[Metric]:
        cache = self._admin.vitals.cache
        queues = (cache.appended, cache.reread)
        inserted = sum(each.inserted for each in queues)
        evicted = sum(each.evicted for each in queues)
        gone = evicted + sum(each.dropped for each in queues)
        evictions = sum(each.evictions for each in queues)
        persistent = sum(name.persistent for name in self._admin.topics.loaded)
        yield self._gauge("pulsar_ml_count", "open logs of topics", persistent)
        yield self._gauge("pulsar_ml_cache_used_size", "bytes", cache.size_bytes)
        yield self._gauge("pulsar_ml_cache_entries", "entries in memory", inserted - gone)
        yield self._gauge("pulsar_ml_cache_inserted_entries_total", "since the start", inserted)
        yield self._gauge("pulsar_ml_cache_evicted_entries_total", "since the start", evicted)
        yield self._gauge("pulsar_ml_cache_evictions", "since the start", evictions)
        rates = self._admin.rates
        about = f"in a second, {_PERIOD}"
        yield self._gauge("pulsar_ml_cache_hits_rate", f"entries {about}", rates.hit_entries)
        yield self._gauge("pulsar_ml_cache_hits_throughput", f"bytes {about}", rates.hit_bytes)
        yield self._gauge("pulsar_ml_cache_misses_rate", f"entries {about}", rates.missed_entries)
        yield self._gauge("pulsar_ml_cache_misses_throughput", f"bytes {about}", rates.missed_bytes)
        yield self._gauge(
            "pulsar_broker_storage_read_cache_misses_rate", f"entries {about}", rates.missed_entries
        )

    def _connections(self) -> Iterator[Metric]:
        counts = self._admin.vitals.connections
        found = {
            "pulsar_active_connections": counts.open,
            "pulsar_connection_created_total_count": counts.opened,
            "pulsar_connection_create_success_count": counts.opened - counts.refused,
            "pulsar_connection_create_fail_count": counts.refused,
            "pulsar_connection_closed_total_count": counts.closed,
        }
        for name, value in found.items():
            yield self._of_broker(name, "of clients", "broker_connection", value)
        vitals = self._admin.vitals
        yield self._gauge(
            "pulsar_broker_throttled_connections",
            "not read, because their clients publish or ask too much",
            vitals.throttled_connections(),
        )
        yield self._gauge(
            "pulsar_broker_pending_bytes_to_dispatch",
            "written to connections, and not read by their clients",
            vitals.unwritten_bytes(),
        )
        last = self._admin.health.last
        health = -1 if last is None else int(last)
        about = "1: the last health check succeeded, 0: it failed, -1: there was none"
        yield self._of_broker("pulsar_health", about, "broker_health", health)

    def _backlog_quotas(self) -> Iterator[Metric]:
        yield self._histogram(
            "pulsar_storage_backlog_quota_check_duration_seconds",
            "checks of all topics",
            self._admin.vitals.backlog_checks,
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
        authentication = self._admin.vitals.authentication
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
        yield self._summary(
            "pulsar_broker_lookup", "lookups, in ms", counts.latency, self._labels()
        )
        for name, value in (
            ("pulsar_broker_lookup_answers", counts.latency.count),
            ("pulsar_broker_lookup_failures", counts.failed),
            ("pulsar_broker_lookup_redirects", 0),
        ):
            yield self._counter(name, "since the start", value, self._labels())
        yield self._gauge("pulsar_broker_lookup_pending_requests", "under way", counts.running)

    def _topic_loads(self) -> Iterator[Metric]:
        counts = self._admin.topics.loads
        latency = counts.latency
        about = "loading of topics, in ms"
        yield self._summary("pulsar_topic_load_times", about, latency, self._labels())
        yield self._counter("topic_load_failed", "since the start", counts.failed, self._labels())
        yield self._gauge("pulsar_broker_topic_load_pending_requests", "under way", counts.running)
        uptime_s = max(self._admin.clock.now() - self._admin.vitals.started_at, 1)
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
            yield self._of_broker(name, "since the start", "topic_load_times", value)

    def _schemas(self) -> Iterator[Metric]:
        for operation, attribute in (("get", "get"), ("put", "put"), ("del", "delete")):
            family = Metric(f"pulsar_schema_{operation}_ops_latency", "in ms", "summary")
            for namespace, counts in self._admin.schema_registry.counts.items():
                its: OperationCounts = getattr(counts, attribute)
                labels = self._labels(namespace=str(namespace))
                _add_summary(family, its.latency, labels, created=self._started_s)
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
        for kind, counts in self._admin.vitals.metadata.items():
            buckets = [(str(float(ms)), counts.latency.up_to(ms / 1000)) for ms in _MS]
            buckets.append(("+Inf", counts.latency.count))
            family.add_metric(
                [self._cluster, "metadata-store", kind, "success"],
                buckets,
                sum_value=counts.latency.total_s * 1000,
            )
            its = {"name": "metadata-store", "type": kind, "status": "success"}
            family.add_sample(f"{family.name}_created", self._labels(**its), self._started_s)
        yield family
        yield self._counter(
            "pulsar_metadata_store_put_bytes",
            "bytes of records",
            self._admin.vitals.metadata_put_bytes(),
            self._labels(name="metadata-store"),
        )

    def _own(self) -> Iterator[Metric]:
        vitals = self._admin.vitals
        yield self._histogram("magnetar_loop_lag_seconds", "the event loop", vitals.loop_lag)
        if vitals.sync_latency is not None:
            yield self._histogram("magnetar_fsync_seconds", "syncs of the log", vitals.sync_latency)
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
        writable = 0 if vitals.write_error() else 1
        yield self._gauge("magnetar_log_writable", "1: the last write succeeded", writable)
        if vitals.traces is not None:
            yield from self._traces(vitals.traces)
        listeners = len(self._admin.events)
        yield self._gauge("magnetar_event_listeners", "clients that listen to events", listeners)
        disk = vitals.disk_seen
        if disk is not None:
            yield self._gauge("magnetar_disk_free_bytes", "of dataDirectory", disk.free_bytes)
            yield self._gauge("magnetar_disk_total_bytes", "of dataDirectory", disk.total_bytes)

    def _traces(self, counts: TraceCounts) -> Iterator[Metric]:
        family = CounterMetricFamily(
            "magnetar_trace_spans", "spans, by what became of them", labels=["cluster", "outcome"]
        )
        for outcome in ("exported", "failed", "dropped"):
            family.add_metric([self._cluster, outcome], getattr(counts, outcome))
        yield family
        what = "publishes, deliveries and requests that were too many to be traced"
        yield self._counter("magnetar_traces_skipped", what, counts.skipped, self._labels())

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
        version.add_metric([self._cluster, self._admin.version, ""], 1)
        yield version

    def _managed_ledgers(self) -> Iterator[Metric]:
        """Sums of namespaces, by the names of Pulsar's managed ledgers."""
        period_s = self._admin.metrics.interval_s
        plain = {
            "AddEntryBytesRate": ("pulsar_entry_size_sum", period_s),
            "AddEntryWithReplicasBytesRate": ("pulsar_entry_size_sum", period_s),
            "AddEntryMessagesRate": ("pulsar_storage_write_rate", 1),
            "AddEntrySucceed": ("pulsar_entry_size_count", 1),
            "NumberOfMessagesInBacklog": ("pulsar_msg_backlog", 1),
            "ReadEntriesBytesRate": ("pulsar_throughput_out", 1),
            "ReadEntriesRate": ("pulsar_storage_read_rate", 1),
            "StoredMessagesSize": ("pulsar_storage_logical_size", 1),
        }
        for name, (summed, divisor) in plain.items():
            index = _INDEX[summed]
            yield self._by_namespace(f"pulsar_ml_{name}", SUMMED[index].about, index, divisor)
        first = _INDEX["pulsar_storage_write_latency_le_0_5"]
        yield from self._buckets("AddEntryLatencyBuckets", "ms", first, _PULSAR_LATENCIES)
        first = _INDEX["pulsar_entry_size_le_128"]
        yield from self._buckets("EntrySizeBuckets", "bytes", first, _PULSAR_SIZES)

    def _buckets(
        self, name: str, unit: str, first: int, edges: Sequence[float]
    ) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            f"pulsar_ml_{name}",
            f"entries by {unit}, {_PERIOD}",
            labels=["cluster", "namespace", "quantile"],
        )
        for namespace, its in self._seen.sums.items():
            for at, (low, high) in enumerate(pairwise(edges)):
                family.add_metric([self._cluster, str(namespace), f"{low}_{high}"], its[first + at])
        yield family
        last = first + len(edges) - 1
        yield self._by_namespace(f"pulsar_ml_{name}_OVERFLOW", f"above {edges[-1]} {unit}", last)

    def _by_namespace(self, name: str, about: str, index: int, divisor: float = 1) -> Metric:
        family = GaugeMetricFamily(name, about, labels=["cluster", "namespace"])
        for namespace, its in self._seen.sums.items():
            family.add_metric([self._cluster, str(namespace)], its[index] / divisor)
        return family

    def _labels(self, **more: str) -> dict[str, str]:
        return {"cluster": self._cluster, **more}

    def _gauge(self, name: str, about: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, about, labels=["cluster"])
        family.add_metric([self._cluster], value)
        return family

    def _of_broker(self, name: str, about: str, metric: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, about, labels=["broker", "cluster", "metric"])
        family.add_metric([self._admin.broker_id, self._cluster, metric], value)
        return family

    def _counter(self, name: str, about: str, value: float, labels: Mapping[str, str]) -> Metric:
        family = CounterMetricFamily(name, about, labels=list(labels))
        family.add_metric(list(labels.values()), value, created=self._started_s)
        return family

    def _summary(
        self, name: str, about: str, histogram: Histogram, labels: Mapping[str, str]
    ) -> Metric:
        family = Metric(name, about, "summary")
        _add_summary(family, histogram, labels, created=self._started_s)
        return family

    def _histogram(
        self, name: str, about: str, histogram: Histogram, *, created: float | None = None
    ) -> Metric:
        family = HistogramMetricFamily(name, about, labels=["cluster"])
        buckets = [(str(each), histogram.up_to(each)) for each in _SECONDS]
        buckets.append(("+Inf", histogram.count))
        family.add_metric([self._cluster], buckets, sum_value=histogram.total_s)
        if created is not None:
            family.add_sample(f"{name}_created", self._labels(), created)
        return family


def _add_summary(
    family: Metric, histogram: Histogram, labels: Mapping[str, str], *, created: float
) -> None:
    """Quantiles, count and sum in ms since the start."""
    for quantile in QUANTILES:
        value = histogram.quantile_s(quantile) * 1000
        family.add_sample(family.name, {**labels, "quantile": str(quantile)}, value)
    family.add_sample(f"{family.name}_count", dict(labels), histogram.count)
    family.add_sample(f"{family.name}_sum", dict(labels), histogram.total_s * 1000)
    family.add_sample(f"{family.name}_created", dict(labels), created)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some families, as a collector of the library."""

    families: Iterator[Metric]

    def collect(self) -> Iterator[Metric]:
        return self.families


def encoded(admin: AdminServices, seen: Seen, accept: str) -> tuple[Iterator[bytes], str]:
    """All families in the format that a client accepts, in parts, and its content type."""
    encode, content_type = choose_encoder(accept)
    parts = BrokerMetrics(admin, seen).parts()
    return (encode(_Part(part)).removesuffix(END) for part in parts), content_type
