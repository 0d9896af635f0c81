"""What an instance of a function has done: counters, exceptions, latency, the user's numbers. Pure.

The names of ``to_json`` are those of Apache Pulsar's status and stats.
"""

from collections import deque
from dataclasses import asdict, dataclass, field
from typing import Any, Final

EXCEPTIONS_KEPT_MAX: Final = 10
"""The latest of each kind."""
EXCEPTION_CHARACTERS_MAX: Final = 4000
USER_METRICS_MAX: Final = 1000
"""Names that a function may record."""


@dataclass(slots=True)
class UserMetric:
    """The numbers that were recorded under one name."""

    sum: float = 0.0
    count: int = 0
    min: float = float("inf")
    max: float = float("-inf")

    def record(self, value: float) -> None:
        self.sum += value
        self.count += 1
        self.min = min(self.min, value)
        self.max = max(self.max, value)


@dataclass(slots=True)
class ExceptionCounts:
    """Exceptions of one kind, as they are shown."""

    count: int = 0
    latest: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=EXCEPTIONS_KEPT_MAX))

    def add(self, text: str, now_ms: int, **of_message: str) -> None:
        """``of_message``: the ``topic`` and ``messageId`` of the one that it was raised for."""
        self.count += 1
        text = text[-EXCEPTION_CHARACTERS_MAX:]
        self.latest.append({"exceptionString": text, "timestampMs": now_ms, **of_message})

    def shown(self) -> list[dict[str, Any]]:
        return list(self.latest)


@dataclass(slots=True)
class InstanceMetrics:
    """Counts since the instance began."""

    received: int = 0
    processed: int = 0
    user: ExceptionCounts = field(default_factory=ExceptionCounts)
    system: ExceptionCounts = field(default_factory=ExceptionCounts)
    busy_s: float = 0.0
    last_invocation_ms: int = 0
    recorded: dict[str, UserMetric] = field(default_factory=dict)

    def record(self, name: str, value: float) -> None:
        """Raises ValueError for one name too many."""
        metric = self.recorded.get(name)
        if metric is None:
            if len(self.recorded) >= USER_METRICS_MAX:
                raise ValueError(f"a function records at most {USER_METRICS_MAX} metrics")
            metric = self.recorded[name] = UserMetric()
        metric.record(value)

    def to_json(self) -> dict[str, Any]:
        return {
            "numReceived": self.received,
            "numSuccessfullyProcessed": self.processed,
            "numUserExceptions": self.user.count,
            "latestUserExceptions": self.user.shown(),
            "numSystemExceptions": self.system.count,
            "latestSystemExceptions": self.system.shown(),
            "averageLatency": self.busy_s * 1000 / self.processed if self.processed else 0.0,
            "lastInvocationTime": self.last_invocation_ms,
            "userMetrics": {name: asdict(metric) for name, metric in self.recorded.items()},
        }
