"""How far a query is behind: read from its progress, where the source writes it. Pure.

Spark has no metrics for sources in Python. What a source says about where its topics end, though,
is shown as it is, as ``latestOffset``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from magnetar.spark.offsets import MESSAGES_BEHIND, SUBSCRIPTION_BACKLOG


@dataclass(frozen=True, slots=True)
class Lag:
    """How far a micro-batch ended from where its topics ended then."""

    messages: Mapping[str, int]
    """Messages behind, by partition, and topic without partitions."""
    subscription_entries: Mapping[str, int]
    """What the query's subscription holds, likewise; of a batch of a producer one."""

    @property
    def min(self) -> int:
        return min(self.messages.values(), default=0)

    @property
    def max(self) -> int:
        return max(self.messages.values(), default=0)

    @property
    def avg(self) -> float:
        return sum(self.messages.values()) / len(self.messages) if self.messages else 0.0


def lag(progress: Mapping[str, Any]) -> Lag:
    """What ``query.lastProgress``, or ``event.progress`` of a listener, says of topics of ours.

    Sources of other formats are left out.
    """
    behind: dict[str, int] = {}
    held: dict[str, int] = {}
    for source in progress["sources"]:
        latest = source["latestOffset"]
        told = json.loads(latest) if isinstance(latest, str) else latest
        if isinstance(told, dict):
            behind.update(told.get(MESSAGES_BEHIND, {}))
            held.update(told.get(SUBSCRIPTION_BACKLOG, {}))
    return Lag(behind, held)
