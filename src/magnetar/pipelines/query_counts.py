"""The counts of a pipeline's query, added up from the progress that Spark reports. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from magnetar.spark.lag import lag

WRITTEN: Final = "written"
OBSERVED_AS: Final = "sink: "
"""Before a query's name: what Spark observes of the rows that it writes. No view is called so."""


@dataclass(slots=True)
class QueryCounts:
    """Counts of a query since its start. A micro-batch that Spark reports twice counts once."""

    rows_read: int = 0
    rows_written: int = 0
    rows_late: int = 0
    rows_duplicate: int = 0
    steps: dict[str, dict[str, int]] = field(default_factory=dict)
    batches: int = 0
    batch_ms: int = 0
    read_per_s: float = 0.0
    written_per_s: float = 0.0
    lag_messages: int | None = None
    _last_batch: int = -1

    def add(self, progress: Mapping[str, Any]) -> None:
        """Take in what Spark reports as JSON."""
        sources = progress["sources"]
        behind = lag(progress).messages
        self.lag_messages = sum(behind.values()) if behind else None
        if progress["batchId"] <= self._last_batch:
            return
        if not progress["numInputRows"] and not progress.get("observedMetrics"):
            self.read_per_s = self.written_per_s = 0.0  # It looked, and there was nothing.
            return
        self._last_batch = progress["batchId"]
        self.batches += 1
        self.batch_ms = progress["durationMs"].get("triggerExecution", 0)
        self.read_per_s = progress.get("processedRowsPerSecond", 0.0)
        self.rows_read += sum(source["numInputRows"] for source in sources)
        written = 0
        for name, counts in progress.get("observedMetrics", {}).items():
            if name.startswith(OBSERVED_AS):
                written = counts[WRITTEN]
                continue
            known = self.steps.setdefault(name, {})
            for what, count in counts.items():
                known[what] = known.get(what, 0) + count
        self.rows_written += written
        self.written_per_s = written * 1000 / self.batch_ms if self.batch_ms else 0.0
        for operator in progress.get("stateOperators", ()):
            self.rows_late += operator["numRowsDroppedByWatermark"]
            custom = operator.get("customMetrics", {})
            self.rows_duplicate += custom.get("numDroppedDuplicateRows", 0)
