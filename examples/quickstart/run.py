"""One run of the quickstart: who does what, in which thread.

    main       starts the others and the broker, shows the board, takes Ctrl-C
    flights    reads the data set, and publishes it while the queries run
    spark      runs Spark and both queries until they have read everything
    results    reads the pipeline's two topics until the queries have ended, and reconciles

The threads wait for each other on events, and stop together (``thread_group.py``).
"""

import contextlib
import logging
import os
import signal
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from magnetar.client import blocking
from magnetar.errors import NotReady
from magnetar.spark.session import session, shut_down
from quickstart import flights as data_set
from quickstart.board import Board
from quickstart.figures import CarrierDay, Figures, by_carrier_and_day
from quickstart.flights import Flight
from quickstart.pipeline import Pipeline
from quickstart.publish import publish, to_messages
from quickstart.reconcile import Counts, Reconciliation, reconcile
from quickstart.results import Results
from quickstart.thread_group import ThreadGroup
from quickstart.topics import QuickstartTopics
from quickstart.watched_query import Ends, WatchedQuery

_POLL_S: Final = 0.2
_SPARK_SETTINGS: Final = {
    # Every micro-batch is counted at the end; the default forgets all but the last hundred.
    "spark.sql.streaming.numRecentProgressUpdates": "100000",
    # The whole job takes less time than compiling it better would.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


class Run:
    """``start`` a run, watch its threads, ``close`` it, join them, then ``reconcile``."""

    def __init__(
        self,
        service_url: str,
        topics: QuickstartTopics,
        flights_max: int | None,
        folder: Path,
        board: Board,
    ) -> None:
        """``folder`` is for checkpoints and logs. The broker need not be there before ``begin``."""
        self._service_url = service_url
        self._topics = topics
        self._flights_max = flights_max
        self._folder = folder
        self.board = board
        self._client = blocking.Client(service_url)
        self._flights: list[Flight] = []
        self._expected: dict[CarrierDay, Figures] = {}
        self._ends: Ends = Future()
        self._spark_started = threading.Event()  # Set when Spark has started, or failed to.
        self._broker_ready = threading.Event()
        self._listening = threading.Event()  # Set when both queries run.
        self._complete = threading.Event()  # Set when both queries ended, having read it all.
        self._outcome: Reconciliation | None = None
        self.threads = ThreadGroup()
        self.results = Results(board.results)
        self.airlines: dict[str, str] = {}

    def start(self) -> None:
        self.threads.start("spark", self._run_spark)
        self.threads.start("flights", self._replay)
        self.threads.start("results", self._read_results)

    def begin(self) -> None:
        """The broker is there, and so is the topic of flights."""
        self._broker_ready.set()

    @property
    def outcome(self) -> Reconciliation:
        """How in and out compare. It is there when all threads have ended well."""
        assert self._outcome is not None, "the threads have ended well"
        return self._outcome

    def _reconcile(self) -> Reconciliation:
        board = self.board
        return reconcile(
            self._flights,
            self._expected,
            Counts(board.published.count, board.windows.count, board.cancelled.count),
            self.results.windows,
            [flight_id for _, flight_id in self.results.cancelled],
        )

    def close(self) -> None:
        """Ask the threads to stop, and end what they wait for: the client, or a starting Spark."""
        self.threads.stopping.set()
        self._client.close()
        pid_file = self._folder / "spark.pid"
        while self.board.spark.began_s is not None and not self._spark_started.wait(_POLL_S):
            with contextlib.suppress(OSError, ValueError):  # There is no process yet, or no more.
                os.kill(int(pid_file.read_text()), signal.SIGTERM)
                return

    def _replay(self) -> None:
        board = self.board
        with board.data_set.during():
            self._flights, airlines = data_set.load(self._flights_max)
            self.threads.check()
            self.airlines.update(airlines)
            messages = to_messages(self._flights)
            self._expected = by_carrier_and_day(self._flights)
            board.data_set.count = len(messages)
        for each in board.stages:
            each.total = len(messages) if each.unit else 0
        self.threads.wait(self._listening)
        stage, topic = board.published, self._topics.flights
        with stage.during():
            ends = publish(self._client, topic, messages, stage, self.threads)
        self._ends.set_result(ends)

    def _read_results(self) -> None:
        self.threads.wait(self._broker_ready)
        self.results.follow(
            self._client, self._topics.results, self._topics.cancelled, self._complete, self.threads
        )
        self._outcome = self._reconcile()  # While Spark is shutting down.

    def _run_spark(self) -> None:
        """Start Spark, run both queries to the end of the input, stop it."""
        self.threads.check()
        # It logs a traceback for each call to a Java that is gone; we say so in a sentence.
        logging.getLogger("py4j").setLevel(logging.CRITICAL)
        try:
            with self.board.spark.during():
                spark = session(
                    "quickstart",
                    settings=_SPARK_SETTINGS,
                    log_file=self._folder / "spark.log",
                    pid_file=self._folder / "spark.pid",
                )
        finally:
            self._spark_started.set()
        try:
            self.threads.wait(self._broker_ready)
            self._run_queries(Pipeline(spark, self._service_url, self._topics, self._folder))
        except (Py4JError, OSError) as error:
            raise NotReady("Spark's Java process has ended by itself: was it killed?") from error
        except PySparkException as error:
            raise NotReady(f"Spark refused a query: {error}") from error
        finally:
            shut_down(spark)

    def _run_queries(self, pipeline: Pipeline) -> None:
        with contextlib.ExitStack() as ending:
            windows = WatchedQuery(pipeline.start_windows(), self.board.windows, self._ends)
            ending.callback(windows.stop)
            cancelled = WatchedQuery(pipeline.start_cancelled(), self.board.cancelled, self._ends)
            ending.callback(cancelled.stop)
            self._listening.set()
            while not (windows.finished and cancelled.finished):
                self._look(windows, cancelled)
        self._complete.set()

    def _look(self, *running: WatchedQuery) -> None:
        """Wait a moment, and look at the queries. Raises NotReady when one has failed."""
        self.threads.pause(_POLL_S)
        for one in running:
            one.look()
