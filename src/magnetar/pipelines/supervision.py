"""Runs the queries of a pipeline together: what one of them fails of ends all."""

import contextlib
import json
from collections.abc import Callable, Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from magnetar.errors import NotReady
from magnetar.pipelines.queries import PreparedQuery
from magnetar.pipelines.query_counts import QueryCounts


class RunningQuery:
    """A query that was started, and its tally."""

    def __init__(self, prepared: PreparedQuery, query: StreamingQuery) -> None:
        self.name = prepared.name
        self.aside = prepared.aside
        self.tally = QueryCounts()
        self._query = query

    @property
    def active(self) -> bool:
        return self._query.isActive

    @property
    def settled(self) -> bool:
        """Whether it has got through its start: it has read something, or there was nothing."""
        if self.tally.batches or not self._query.isActive:
            return True
        status: dict[str, Any] = self._query.status
        return str(status["message"]).startswith("Waiting for")

    def look(self) -> None:
        """Bring the tally up to date. Raises NotReady when the query has failed."""
        active = self._query.isActive  # Asked first, so that the last progress is not missed.
        for progress in self._query.recentProgress:
            self.tally.add(json.loads(progress.json))
        if not active and (failure := self._query.exception()) is not None:
            raise NotReady(f"{self.name} failed: {cause(str(failure))}")

    def stop(self) -> None:
        with contextlib.suppress(PySparkException, Py4JError, OSError):
            self._query.stop()


class Supervision:
    """``run`` returns when all queries have ended by themselves, and stops them when one fails."""

    def __init__(self) -> None:
        self.queries: list[RunningQuery] = []

    def run(self, prepared: Sequence[PreparedQuery], wait: Callable[[], None]) -> None:
        """Start the first query alone, then the others; ``wait`` is called between two looks.

        Whatever ``wait`` raises stops them, as Ctrl-C does. Raises NotReady when one fails.
        """
        try:
            for one in prepared:
                self._start(one)
                if len(self.queries) == 1:
                    # Spark 4.3 may mix up the first queries of a format that start together.
                    while not self.queries[0].settled:
                        self._look(wait)
            while any(query.active for query in self.queries):
                self._look(wait)
            self._look(lambda: None)
        finally:
            for query in self.queries:
                query.stop()

    def _start(self, prepared: PreparedQuery) -> None:
        try:
            query = prepared.start()
        except PySparkException as error:
            raise NotReady(f"{prepared.name} does not start: {cause(str(error))}") from error
        self.queries.append(RunningQuery(prepared, query))

    def _look(self, wait: Callable[[], None]) -> None:
        wait()
        for query in self.queries:
            query.look()


def cause(said: str) -> str:
    """One line of Spark's account: ours or the user's own error where there is one."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in reversed(lines):
        _, found, rest = line.partition("magnetar.errors.")
        if found:
            return rest
    return lines[0] if lines else "no reason given"
