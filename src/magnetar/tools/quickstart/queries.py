"""The thread that has Spark: starts it, runs both queries to the end of the input, stops it."""

import contextlib
import json
import logging
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeAlias

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from magnetar.errors import NotReady
from magnetar.spark.offsets import Offset, covers, from_json
from magnetar.spark.session import session, shut_down
from magnetar.tools.quickstart.board import Board, Stage
from magnetar.tools.quickstart.crew import Crew
from magnetar.tools.quickstart.pipeline import Pipeline
from magnetar.tools.quickstart.topics import QuickstartTopics

Ends: TypeAlias = Future[Mapping[str, Offset]]
"""Where the input ends, by partition: known when everything is published."""
_POLL_S = 0.2
_SETTINGS = {
    # Every micro-batch is counted at the end; the default forgets all but the last hundred.
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    # The whole job takes less time than compiling it better would.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


class Queries:
    """Two queries, from the first message to the last one published."""

    def __init__(
        self, service_url: str, topics: QuickstartTopics, folder: Path, board: Board, crew: Crew
    ) -> None:
        self._service_url = service_url
        self._topics = topics
        self._folder = folder
        self._board = board
        self._crew = crew
        self._started = threading.Event()  # Set when Spark has started, or failed to.
        self.listening = threading.Event()  # Set when the first query runs.
        self.warm = threading.Event()  # Set when it has done its first micro-batch.
        self.complete = threading.Event()  # Set when both queries have ended, having read it all.

    def run(self, ends: Ends) -> None:
        """Raises NotReady when Spark does not start or a query fails, and Stopped."""
        self._crew.pause(0)
        # It logs a traceback for each call to a Java that is gone; we say so in a sentence.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        try:
            with self._board.spark.during():
                spark = session(
                    "magnetar quickstart",
                    settings=_SETTINGS,
                    log_file=self._folder / "spark.log",
                    pid_file=self._folder / "spark.pid",
                )
        finally:
            self._started.set()
        try:
            self._run_both(Pipeline(spark, self._service_url, self._topics, self._folder), ends)
        except (Py4JError, OSError) as error:
            raise NotReady("Spark's Java process has ended by itself: was it killed?") from error
        except PySparkException as error:
            raise NotReady(f"Spark refused a query: {error}") from error
        finally:
            shut_down(spark)

    def abandon(self) -> None:
        """Once the crew is to stop: do not wait for a Spark that is still starting, end it."""
        pid_file = self._folder / "spark.pid"
        while self._board.spark.began_s is not None and not self._started.wait(_POLL_S):
            with contextlib.suppress(OSError, ValueError):  # There is no process yet, or no more.
                os.kill(int(pid_file.read_text()), signal.SIGTERM)
                return

    def _run_both(self, pipeline: Pipeline, ends: Ends) -> None:
        with contextlib.ExitStack() as ending:
            windows = WatchedQuery(pipeline.start_windows(), self._board.windows, ends)
            ending.callback(windows.stop)
            self.listening.set()
            # Spark 4 may mix up the first two queries of a format that start at the same time.
            while not windows.has_read:
                self._look(windows)
            self.warm.set()
            cancelled = WatchedQuery(pipeline.start_cancelled(), self._board.cancelled, ends)
            ending.callback(cancelled.stop)
            while not (windows.finished and cancelled.finished):
                self._look(windows, cancelled)
        self.complete.set()

    def _look(self, *running: "WatchedQuery") -> None:
        """Wait a moment, and look at the queries. Raises NotReady when one has failed."""
        self._crew.pause(_POLL_S)
        for one in running:
            one.look()


class WatchedQuery:
    """A query and what it has read so far, by its own account."""

    def __init__(self, query: StreamingQuery, stage: Stage, ends: Ends) -> None:
        self._query = query
        self._stage = stage
        self._ends = ends
        self._rows: dict[int, int] = {}
        self._reached: dict[str, Offset] = {}
        self.stop = query.stop
        stage.began_s = stage.clock.now()

    @property
    def has_read(self) -> bool:
        return bool(self._rows)

    @property
    def finished(self) -> bool:
        """Whether it has read to the end of the input, and every micro-batch is counted."""
        return self._stage.ended_s is not None

    def look(self) -> None:
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
