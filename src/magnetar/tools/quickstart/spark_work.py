"""The thread that has Spark: starts it, runs both queries to the end of the input, stops it."""

import contextlib
import json
import logging
import os
import signal
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

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

_POLL_S = 0.2
_SETTINGS = {
    # Every micro-batch is counted at the end; the default forgets all but the last hundred.
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    # The whole job takes less time than compiling it better would.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
}


class SparkWork:
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

    def run(self, ends: Mapping[str, Offset], all_published: threading.Event) -> None:
        """``ends`` is where the input ends, once ``all_published`` is set."""
        if self._crew.stopping.is_set():
            return
        # It logs a traceback for each call to a Java that is gone; we say so in a sentence.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        try:
            with self._board.during(self._board.spark):
                spark = session(
                    "magnetar quickstart",
                    settings=_SETTINGS,
                    log_file=self._folder / "spark.log",
                    pid_file=self._folder / "spark.pid",
                )
        finally:
            self._started.set()
        try:
            pipeline = Pipeline(spark, self._service_url, self._topics, self._folder)
            self._run_queries(pipeline, ends, all_published)
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

    def _run_queries(
        self, pipeline: Pipeline, ends: Mapping[str, Offset], all_published: threading.Event
    ) -> None:
        board = self._board
        running: list[WatchedQuery] = []
        try:
            running.append(WatchedQuery(pipeline.start_windows(), board, board.windows))
            self.listening.set()
            # Spark 4 may mix up the first two queries of a format that start at the same time.
            while not running[0].has_read:
                if self._stop_asked(running):
                    return
            self.warm.set()
            running.append(WatchedQuery(pipeline.start_cancelled(), board, board.cancelled))
            while not all_published.is_set() or _unfinished(running, ends):
                if self._stop_asked(running):
                    return
        finally:
            for one in running:
                one.stop()
        self.complete.set()

    def _stop_asked(self, running: list["WatchedQuery"]) -> bool:
        """Look at the queries, and wait a moment. Raises NotReady when one has failed."""
        for one in running:
            one.look()
        return self._crew.stopping.wait(_POLL_S)


def _unfinished(running: "list[WatchedQuery]", ends: Mapping[str, Offset]) -> "list[WatchedQuery]":
    """Asks every one: a query notes when it was first found to be finished."""
    return [one for one in running if not one.finished(ends)]


def _cause(failure: StreamingQueryException) -> str:
    """The last line of what went wrong says most; the log has the rest."""
    said = str(failure).strip().splitlines()
    ours = [line for line in said if line.startswith("magnetar.")]
    return (ours or said or ["no reason given"])[-1 if ours else 0]


class WatchedQuery:
    """A query and what it has read so far, by its own account."""

    def __init__(self, query: StreamingQuery, board: Board, stage: Stage) -> None:
        self._query = query
        self._board = board
        self._stage = stage
        self._rows: dict[int, int] = {}
        self._reached: dict[str, Offset] = {}
        stage.began_s = board.clock.now()

    @property
    def has_read(self) -> bool:
        return bool(self._rows)

    def look(self) -> None:
        failure = self._query.exception()
        if failure is not None:
            raise NotReady(f"the query '{self._query.name}' failed: {_cause(failure)}")
        progress: Any = self._query.lastProgress
        if progress is not None:
            self._note(progress)

    def finished(self, ends: Mapping[str, Offset]) -> bool:
        """Whether it has read up to ``ends``; if so, every micro-batch is counted."""
        if not covers(self._reached, ends):
            return False
        if self._stage.ended_s is None:
            for progress in self._query.recentProgress:
                self._note(progress)
            self._stage.ended_s = self._board.clock.now()
        return True

    def stop(self) -> None:
        self._query.stop()

    def _note(self, progress: Any) -> None:
        source = progress["sources"][0]
        if source["numInputRows"] and not self._stage.count:
            # The first messages were read when this work began; before, Spark was starting.
            read_s = progress["durationMs"]["addBatch"] / 1000
            self._stage.began_s = self._board.clock.now() - read_s
        self._rows[progress["batchId"]] = source["numInputRows"]
        self._stage.count = sum(self._rows.values())
        batches = len(self._rows)
        self._stage.note = f"{batches} micro-batch{'es' if batches > 1 else ''}"
        end = source["endOffset"]
        if end:
            offsets = from_json(json.loads(end) if isinstance(end, str) else end)
            self._reached.update(offsets)
