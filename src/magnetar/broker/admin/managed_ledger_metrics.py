"""The metrics of managed ledgers, by Pulsar's names: those of namespaces, and of their cache.

This file is imported when metrics are first asked for, and the library with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from magnetar.broker.admin.services import MetricServices
from magnetar.broker.admin.topic_metrics import PERIOD, SUMMED, latency_buckets
from magnetar.model.counts import LogCounts
from magnetar.model.names import NamespaceName

_LATENCIES_MS: Final = (0.0, 0.5, 1.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 1000.0)
_SIZES: Final = (0, 128, 512, 1024, 2084, 4096, 16384, 102400, 1232896)
_NOTHING: Final = LogCounts()
_COUNTED: Final[Sequence[tuple[str, str, Callable[[LogCounts], float]]]] = (
    ("pulsar_ml_AddEntryErrors", "entries that were not stored", attrgetter("appends_failed")),
    ("pulsar_ml_ReadEntriesErrors", "reads that failed", attrgetter("reads_failed")),
    (
        "pulsar_ml_ReadEntriesSucceeded",
        "entries that were read",
        lambda its: its.hit_entries + its.missed_entries,
    ),
    (
        "pulsar_ml_ReadEntriesOpsCacheMissesRate",
        "entries that were read from disk in a second",
        attrgetter("missed_entries"),
    ),
    (
        "pulsar_ml_MarkDeleteRate",
        "cursors that were saved in a second",
        attrgetter("cursors_saved"),
    ),
)


def of_cache(admin: MetricServices) -> Iterator[Metric]:
    """The memory for recent entries, and what was read from it and from disk."""
    cache, period_s = admin.broker.health.cache, admin.broker.metrics.interval_s
    queues, logs = (cache.appended, cache.reread), admin.rates.logs.values()
    inserted = sum(each.inserted for each in queues)
    evicted = sum(each.evicted for each in queues)
    gone = evicted + sum(each.dropped for each in queues)
    entries, size = f"entries in a second, {PERIOD}", f"bytes in a second, {PERIOD}"
    missed_entries = sum(each.missed_entries for each in logs) / period_s
    missed_bytes = sum(each.missed_bytes for each in logs) / period_s
    hit_entries = sum(each.hit_entries for each in logs) / period_s
    hit_bytes = sum(each.hit_bytes for each in logs) / period_s
    evictions = sum(each.evictions for each in queues)
    persistent = sum(name.persistent for name in admin.broker.topics.loaded)
    for name, about, value in (
        ("pulsar_ml_count", "open logs of topics", persistent),
        ("pulsar_ml_cache_used_size", "bytes", cache.size_bytes),
        ("pulsar_ml_cache_entries", "entries in memory", inserted - gone),
        ("pulsar_ml_cache_inserted_entries_total", "since the start", inserted),
        ("pulsar_ml_cache_evicted_entries_total", "since the start", evicted),
        ("pulsar_ml_cache_evictions", "since the start", evictions),
        ("pulsar_ml_cache_hits_rate", entries, hit_entries),
        ("pulsar_ml_cache_hits_throughput", size, hit_bytes),
        ("pulsar_ml_cache_misses_rate", entries, missed_entries),
        ("pulsar_ml_cache_misses_throughput", size, missed_bytes),
        ("pulsar_broker_storage_read_cache_misses_rate", entries, missed_entries),
    ):
        family = GaugeMetricFamily(name, about, labels=["cluster"])
        family.add_metric([admin.broker.cluster], value)
        yield family


def of_namespaces(
    admin: MetricServices, sums: Mapping[NamespaceName, Sequence[float]]
) -> Iterator[Metric]:
    """What the logs of each namespace do; ``sums``: the values of ``SUMMED`` of open topics."""
    cluster, period_s, counted = (
        admin.broker.cluster,
        admin.broker.metrics.interval_s,
        admin.rates.logs,
    )
    for name, (summed, divisor) in {
        "pulsar_ml_AddEntryBytesRate": ("pulsar_entry_size_sum", period_s),
        "pulsar_ml_AddEntryWithReplicasBytesRate": ("pulsar_entry_size_sum", period_s),
        "pulsar_ml_AddEntryMessagesRate": ("pulsar_storage_write_rate", 1),
        "pulsar_ml_AddEntrySucceed": ("pulsar_entry_size_count", 1),
        "pulsar_ml_NumberOfMessagesInBacklog": ("pulsar_msg_backlog", 1),
        "pulsar_ml_ReadEntriesBytesRate": ("pulsar_throughput_out", 1),
        "pulsar_ml_ReadEntriesRate": ("pulsar_storage_read_rate", 1),
        "pulsar_ml_StoredMessagesSize": ("pulsar_storage_logical_size", 1),
    }.items():
        at = SUMMED.index[summed]
        values = {namespace: its[at] / divisor for namespace, its in sums.items()}
        yield _family(cluster, name, SUMMED.columns[at].about, values)
    for name, first, edges, unit in (
        (
            "pulsar_ml_AddEntryLatencyBuckets",
            "pulsar_storage_write_latency_le_0_5",
            _LATENCIES_MS,
            "ms",
        ),
        ("pulsar_ml_EntrySizeBuckets", "pulsar_entry_size_le_128", _SIZES, "bytes"),
    ):
        at = SUMMED.index[first]
        buckets = {namespace: its[at : at + len(edges)] for namespace, its in sums.items()}
        yield from _buckets(cluster, name, f"entries by {unit}, {PERIOD}", edges, buckets)
    # Those without open topics, too: it may have been an error that closed the last one.
    logs = {name: counted.get(name, _NOTHING) for name in (*sums, *(counted.keys() - sums))}
    for name, about, find in _COUNTED:
        values = {namespace: find(its) for namespace, its in logs.items()}
        if name.endswith("Rate"):
            values = {namespace: value / period_s for namespace, value in values.items()}
        yield _family(cluster, name, f"{about}, {PERIOD}", values)
    switches = {namespace: latency_buckets(its.switches) for namespace, its in logs.items()}
    about = f"ledgers that were begun by ms, {PERIOD}"
    yield from _buckets(
        cluster, "pulsar_ml_LedgerSwitchLatencyBuckets", about, _LATENCIES_MS, switches
    )


def _family(
    cluster: str, name: str, about: str, values: Mapping[NamespaceName, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=["cluster", "namespace"])
    for namespace, value in values.items():
        family.add_metric([cluster, str(namespace)], value)
    return family


def _buckets(
    cluster: str,
    name: str,
    about: str,
    edges: Sequence[float],
    counts: Mapping[NamespaceName, Sequence[float]],
) -> Iterator[Metric]:
    """The buckets between the edges, and the one above them, as a metric of its own."""
    family = GaugeMetricFamily(name, about, labels=["cluster", "namespace", "quantile"])
    for namespace, its in counts.items():
        for at, (low, high) in enumerate(pairwise(edges)):
            family.add_metric([cluster, str(namespace), f"{low}_{high}"], its[at])
    yield family
    above = {namespace: its[len(edges) - 1] for namespace, its in counts.items()}
    yield _family(cluster, f"{name}_OVERFLOW", f"the same, above {edges[-1]}", above)
