"""The metrics of transactions, as families of the Prometheus library.

This file is imported when metrics are first asked for, and the library with it.
"""

from collections.abc import Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from magnetar.broker.admin.services import MetricServices
from magnetar.model.histogram import Histogram

_EDGES_MS: Final = (10, 20, 50, 100, 500, 1000, 5000, 15_000, 30_000, 60_000)
_LONG_EDGES_MS: Final = (300_000, 1_500_000, 3_000_000)
_LABELS: Final = ["cluster", "coordinator_id"]


def of_coordinators(admin: MetricServices) -> Iterator[Metric]:
    """What each coordinator that this broker serves has, and did since it was loaded."""
    served = {} if admin.coordinators is None else admin.coordinators.loaded
    families = {
        name: GaugeMetricFamily(name, about, labels=_LABELS)
        for name, about in (
            ("pulsar_txn_active_count", "that have not ended"),
            ("pulsar_txn_created_total", "since the coordinator was loaded"),
            ("pulsar_txn_committed_total", "since the coordinator was loaded"),
            ("pulsar_txn_aborted_total", "since the coordinator was loaded, by time or otherwise"),
            ("pulsar_txn_timeout_total", "aborted because their time was over"),
            ("pulsar_txn_append_log_total", "records of the log since the coordinator was loaded"),
            *(
                (f"pulsar_txn_execution_latency_le_{edge}", "committed so many ms after they began")
                for edge in (*_EDGES_MS, *_LONG_EDGES_MS, "overflow")
            ),
        )
    }
    for number, coordinator in served.items():
        counts = coordinator.counts
        values = (
            len(coordinator.transactions),
            counts.created,
            counts.committed,
            counts.aborted,
            counts.timed_out,
            counts.appended,
            *_between(counts.latency),
        )
        for family, value in zip(families.values(), values, strict=True):
            family.add_metric([admin.broker.cluster, str(number)], value)
    yield from families.values()


def _between(latency: Histogram) -> Iterator[int]:
    """How many took longer than one edge, and no longer than the next."""
    before = 0
    for edge_ms in (*_EDGES_MS, *_LONG_EDGES_MS):
        within = latency.up_to(edge_ms / 1000)
        yield within - before
        before = within
    yield latency.count - before
