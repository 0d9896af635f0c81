"""Families of metrics of a broker, as the Prometheus library has them.

This file is imported when metrics are first asked for, and the library with it.
"""

from collections.abc import Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.metrics_core import HistogramMetricFamily

from magnetar.late_dataclass import dataclass
from magnetar.model.histogram import Histogram

QUANTILES: Final = (0.5, 0.75, 0.95, 0.99, 0.999, 0.9999)
_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


@dataclass(slots=True, eq=False)
class MetricFamilies:
    """Makes families with the labels that all of a broker have."""

    cluster: str
    broker_id: str
    started_s: float

    def labels(self, **more: str) -> dict[str, str]:
        """The label of the cluster, and others."""
        return {"cluster": self.cluster, **more}

    def gauge(self, name: str, about: str, value: float) -> Metric:
        """A gauge of the whole broker."""
        family = GaugeMetricFamily(name, about, labels=["cluster"])
        family.add_metric([self.cluster], value)
        return family

    def of_broker(self, name: str, about: str, metric: str, value: float) -> Metric:
        """One that names the broker, and what it is about."""
        family = GaugeMetricFamily(name, about, labels=["broker", "cluster", "metric"])
        family.add_metric([self.broker_id, self.cluster, metric], value)
        return family

    def counter(self, name: str, about: str, value: float, labels: Mapping[str, str]) -> Metric:
        """What counts since the start."""
        family = CounterMetricFamily(name, about, labels=list(labels))
        family.add_metric(list(labels.values()), value, created=self.started_s)
        return family

    def summary(
        self, name: str, about: str, histogram: Histogram, labels: Mapping[str, str]
    ) -> Metric:
        """Quantiles of how long something took, in ms."""
        family = Metric(name, about, "summary")
        add_summary(family, histogram, labels, created=self.started_s)
        return family

    def histogram(
        self, name: str, about: str, histogram: Histogram, *, created: float | None = None
    ) -> Metric:
        """How often something took how long, in seconds."""
        family = HistogramMetricFamily(name, about, labels=["cluster"])
        buckets = [(str(each), histogram.up_to(each)) for each in _SECONDS]
        buckets.append(("+Inf", histogram.count))
        family.add_metric([self.cluster], buckets, sum_value=histogram.total_s)
        if created is not None:
            family.add_sample(f"{name}_created", self.labels(), created)
        return family


def add_summary(
    family: Metric, histogram: Histogram, labels: Mapping[str, str], *, created: float
) -> None:
    """Quantiles, count and sum in ms since the start."""
    for quantile in QUANTILES:
        value = histogram.quantile_s(quantile) * 1000
        family.add_sample(family.name, {**labels, "quantile": str(quantile)}, value)
    family.add_sample(f"{family.name}_count", dict(labels), histogram.count)
    family.add_sample(f"{family.name}_sum", dict(labels), histogram.total_s * 1000)
    family.add_sample(f"{family.name}_created", dict(labels), created)
