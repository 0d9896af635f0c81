"""Reports as Pulsar's brokers write them (LocalBrokerData), and as they are read. Pure."""

from dataclasses import fields
from typing import Any, Final

from magnetar.errors import InvalidValue
from magnetar.model.bundles import Bundle
from magnetar.model.names import NamespaceName
from magnetar.model.records import Json

from .report import BundleLoad, Report, Resource, Traffic

_RESOURCES: Final = {
    "cpu": "cpu",
    "memory": "memory",
    "directMemory": "direct_memory",
    "bandwidthIn": "bandwidth_in",
    "bandwidthOut": "bandwidth_out",
}
_TRAFFIC: Final = dict(
    zip(
        ("msgRateIn", "msgThroughputIn", "msgRateOut", "msgThroughputOut"),
        (each.name for each in fields(Traffic)),
        strict=True,
    )
)


def shown(report: Report) -> Json:
    """A report in Pulsar's words."""
    bundles = {str(bundle): _load(load) for bundle, load in report.bundles.items()}
    its = report.bundles.values()
    return {
        "loadReportType": "LocalBrokerData",
        **{
            key: {"usage": each.usage, "limit": each.limit}
            for key, name in _RESOURCES.items()
            for each in [getattr(report, name)]
        },
        **_traffic(report.traffic),
        "numTopics": sum(each.topics for each in its),
        "numBundles": len(bundles),
        "numProducers": sum(each.producers for each in its),
        "numConsumers": sum(each.consumers for each in its),
        "bundles": sorted(bundles),
        "lastStats": bundles,
        "lastUpdate": report.updated_ms,
    }


def read(value: Json) -> Report:
    """The report that ``shown`` made, or Pulsar. Raises InvalidValue."""
    try:
        found = {
            name: Resource(float(value[key]["usage"]), float(value[key]["limit"]))
            for key, name in _RESOURCES.items()
        }
        bundles = {_bundle(name): _read_load(each) for name, each in value["lastStats"].items()}
        return Report(**found, bundles=bundles, updated_ms=int(value["lastUpdate"]))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidValue(f"it is no report of load: {error!r:.100}") from error


def _traffic(traffic: Traffic) -> Json:
    return {key: getattr(traffic, name) for key, name in _TRAFFIC.items()}


def _load(load: BundleLoad) -> Json:
    return _traffic(load.traffic) | {
        "topics": load.topics,
        "producerCount": load.producers,
        "consumerCount": load.consumers,
        "cacheSize": 0,
    }


def _read_load(value: Any) -> BundleLoad:
    return BundleLoad(
        Traffic(**{name: float(value[key]) for key, name in _TRAFFIC.items()}),
        int(value["topics"]),
        int(value["producerCount"]),
        int(value["consumerCount"]),
    )


def _bundle(text: str) -> Bundle:
    tenant, local, bounds = text.split("/")
    low, high = (int(bound, 16) for bound in bounds.split("_"))
    return Bundle(NamespaceName(tenant, local), low, high)
