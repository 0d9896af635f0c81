"""A streaming query, and what it has read so far by its own account."""

import json
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, TypeAlias

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from magnetar.errors import NotReady
from magnetar.spark.offsets import Offset, covers, from_json
from quickstart.board import Stage

Ends: TypeAlias = Future[Mapping[str, Offset]]
"""Where the input ends in each partition, which is known when everything is published."""


class WatchedQuery:
    """Keeps ``stage`` up to date with what the query has read, until it has read up to ``ends``."""

    def __init__(self, query: StreamingQuery, stage: Stage, ends: Ends) -> None:
        self._query = query
        self._stage = stage
        self._ends = ends
        self._rows: dict[int, int] = {}
        self._reached: dict[str, Offset] = {}
        self.stop = query.stop
        stage.began_s = stage.clock.now()

    @property
    def finished(self) -> bool:
        """Whether it has read to the end of the input, and every micro-batch is counted."""
        return self._stage.ended_s is not None

    def look(self) -> None:
        """Update the stage. Raises NotReady when the query has failed."""
        failure = self._query.exception()
        if failure is not None:
            raise NotReady(f"the query '{self._query.name}' failed: {_cause(failure)}")
        progress: Any = self._query.lastProgress
        if progress is not None:
            self._note(progress)
        if self._ends.done() and covers(self._reached, self._ends.result()) and not self.finished:
            for progress in self._query.recentProgress:
                self._note(progress)
            self._stage.ended_s = self._stage.clock.now()

    def _note(self, progress: Any) -> None:
        source = progress["sources"][0]
        if source["numInputRows"] and not self._stage.count:
            # The first messages were read when this work began; before, Spark was starting.
            read_s = progress["durationMs"]["addBatch"] / 1000
            self._stage.began_s = self._stage.clock.now() - read_s
        self._rows[progress["batchId"]] = source["numInputRows"]
        self._stage.count = sum(self._rows.values())
        batches = len(self._rows)
        self._stage.note = f"{batches} micro-batch{'es' if batches > 1 else ''}"
        if end := source["endOffset"]:
            self._reached |= from_json(json.loads(end) if isinstance(end, str) else end)


def _cause(failure: StreamingQueryException) -> str:
    """The last line of what went wrong in our code, or Spark's first; the log has the rest."""
    said = str(failure).strip().splitlines() or ["no reason given"]
    ours = [line for line in said if line.startswith("magnetar.")]
    return ours[-1] if ours else said[0]
