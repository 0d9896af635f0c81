"""What the topics of all namespaces sum up to, for the broker.

This file is imported when metrics are first asked for, and the Prometheus library with it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from prometheus_client.core import GaugeMetricFamily, Metric

from magnetar.broker.admin.metric_families import MetricFamilies
from magnetar.broker.admin.topic_metrics import SUMMED
from magnetar.model.names import NamespaceName

_INDEX: Final = {column.name: at for at, column in enumerate(SUMMED)}
PERIOD: Final = "of the last whole statsUpdateFrequencyInSecs"


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


class SummedMetrics:
    """Families of the sums of namespaces, which have the values of SUMMED."""

    def __init__(
        self,
        make: MetricFamilies,
        cluster: str,
        sums: Mapping[NamespaceName, Sequence[float]],
    ) -> None:
        self._make = make
        self._cluster = cluster
        self._sums = sums

    def of_broker(
        self, topics: Mapping[NamespaceName, int], system_bytes: Sequence[int]
    ) -> Iterator[Metric]:
        """``topics`` that are open, and the bytes into and out of those of the system."""
        totals = [sum(each) for each in zip(*self._sums.values(), strict=True)]
        totals = totals or [0] * len(SUMMED)
        for name, summed in _BROKER_SUMS.items():
            index = _INDEX[summed]
            about = f"{SUMMED[index].about} (all topics)"
            yield self._make.gauge(name, about, totals[index])
        yield self._make.gauge("pulsar_broker_topics_count", "open", sum(topics.values()))
        for way, label, at in (("in", "system_topic", 0), ("out", "system_subscription", 1)):
            its = system_bytes[at]
            all_bytes = totals[_INDEX[f"pulsar_{way}_bytes_total"]]
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
