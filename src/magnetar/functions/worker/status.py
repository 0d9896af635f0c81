"""What the worker says of a running function: Pulsar's FunctionStatus and FunctionStats. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from magnetar.functions.instance_metrics import EXCEPTIONS_KEPT_MAX

Metrics = Mapping[str, Any]
"""The numbers of one instance, by the names of Pulsar's status, and ``userMetrics``."""

NOTHING: Final[Metrics] = {
    "numReceived": 0,
    "numSuccessfullyProcessed": 0,
    "numUserExceptions": 0,
    "latestUserExceptions": [],
    "numSystemExceptions": 0,
    "latestSystemExceptions": [],
    "averageLatency": 0.0,
    "lastInvocationTime": 0,
    "userMetrics": {},
}
_TOTALS: Final = {
    "receivedTotal": "numReceived",
    "processedSuccessfullyTotal": "numSuccessfullyProcessed",
    "systemExceptionsTotal": "numSystemExceptions",
    "userExceptionsTotal": "numUserExceptions",
}
LATEST: Final = ("latestUserExceptions", "latestSystemExceptions")
"""Where the status has the exceptions that were raised last."""


def added(before: Metrics, now: Metrics) -> Metrics:
    """The numbers of an instance over a restart: of those before it, and since."""
    count, more = before["numSuccessfullyProcessed"], now["numSuccessfullyProcessed"]
    busy = before["averageLatency"] * count + now["averageLatency"] * more
    sums = {name: before[name] + now[name] for name in _TOTALS.values()}
    latest = {name: [*before[name], *now[name]][-EXCEPTIONS_KEPT_MAX:] for name in LATEST}
    return {
        **sums,
        **latest,
        "averageLatency": busy / (count + more) if count + more else 0.0,
        "lastInvocationTime": max(before["lastInvocationTime"], now["lastInvocationTime"]),
        "userMetrics": {**before["userMetrics"], **now["userMetrics"]},
    }


def instance_status(
    metrics: Metrics, *, running: bool, error: str, restarts: int, worker: str
) -> dict[str, Any]:
    """The status of one instance."""
    return {
        "running": running,
        "error": error,
        "numRestarts": restarts,
        **{name: metrics[name] for name in NOTHING if name != "userMetrics"},
        "workerId": worker,
    }


def function_status(instances: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The status of a function, from those of its instances."""
    return {
        "numInstances": len(instances),
        "numRunning": sum(one["running"] for one in instances),
        "instances": [
            {"instanceId": number, "status": one} for number, one in enumerate(instances)
        ],
    }


def _stats(metrics: Metrics) -> dict[str, Any]:
    latency = metrics["averageLatency"] if metrics["numSuccessfullyProcessed"] else None
    totals = {key: metrics[name] for key, name in _TOTALS.items()}
    return {**totals, "avgProcessLatency": latency}


def instance_stats(metrics: Metrics, minute: Metrics) -> dict[str, Any]:
    """The stats of one instance. ``minute``: the numbers of the last minute."""
    return {
        **_stats(metrics),
        "1min": _stats(minute),
        "lastInvocation": metrics["lastInvocationTime"] or None,
        "userMetrics": _plain_metrics(metrics["userMetrics"]),
    }


def function_stats(instances: Sequence[Metrics], minutes: Sequence[Metrics]) -> dict[str, Any]:
    """The stats of a function, from the numbers of its instances."""
    whole, minute = NOTHING, NOTHING
    for each in instances:
        whole = added(whole, each)
    for each in minutes:
        minute = added(minute, each)
    shown = instance_stats(whole, minute)
    del shown["userMetrics"]
    shown["instances"] = [
        {"instanceId": number, "metrics": instance_stats(one, minutes[number])}
        for number, one in enumerate(instances)
    ]
    return shown


def _plain_metrics(recorded: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """A number for each, as Pulsar shows them: ``name_count``, ``name_sum``, ..."""
    return {
        f"{name}_{part}": value for name, each in recorded.items() for part, value in each.items()
    }


def since(before: Metrics, now: Metrics) -> Metrics:
    """What happened between two states of the same counters."""
    count = now["numSuccessfullyProcessed"] - before["numSuccessfullyProcessed"]
    busy = (
        now["averageLatency"] * now["numSuccessfullyProcessed"]
        - before["averageLatency"] * before["numSuccessfullyProcessed"]
    )
    passed = {name: now[name] - before[name] for name in _TOTALS.values()}
    return {**NOTHING, **passed, "averageLatency": busy / count if count else 0.0}
