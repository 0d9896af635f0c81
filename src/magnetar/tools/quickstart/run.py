"""One run of the quickstart: who does what, in which thread.

    main       starts the others, shows the board, takes Ctrl-C, reconciles
    flights    reads the data set, then publishes it: some to warm up Spark, then the rest
    spark      runs Spark and both queries until they have read everything (``spark_work.py``)
    results    reads the pipeline's two topics until the queries have ended

The threads wait for each other on events, and stop together (``crew.py``).
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol

from magnetar.client import blocking
from magnetar.client.message import OutgoingMessage
from magnetar.spark.offsets import Offset
from magnetar.tools.quickstart import flights as data_set
from magnetar.tools.quickstart.admin import create_partitioned_topic
from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.crew import Crew
from magnetar.tools.quickstart.figures import CarrierDay, Figures, by_carrier_and_day
from magnetar.tools.quickstart.flights import Flight
from magnetar.tools.quickstart.publish import publish, to_messages
from magnetar.tools.quickstart.reconcile import Counts, Reconciliation, reconcile
from magnetar.tools.quickstart.results import Results, follow
from magnetar.tools.quickstart.topics import QuickstartTopics

WARM_UP = 2_000
"""Messages of the first micro-batch."""


class Broker(Protocol):
    """The broker of a run: ``testing.processes.BrokerProcess``, or one that runs elsewhere."""

    @property
    def service_url(self) -> str: ...

    @property
    def web_url(self) -> str: ...

    def check(self) -> None:
        """Raise NotReady when it is known to have ended."""


@dataclass(frozen=True, slots=True)
class ElsewhereBroker:
    """A broker that somebody else runs."""

    service_url: str
    web_url: str

    def check(self) -> None:
        """Nothing is known of its process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to replay, into which topics, and where scratch files go."""

    topics: QuickstartTopics
    partitions: int
    flights_max: int | None
    folder: Path


class Run:
    """A run in its parts; ``start`` it, watch the crew, then ``reconcile``."""

    def __init__(self, plan: Plan, broker: Broker, board: Board, crew: Crew) -> None:
        # Imported now: `--help` works without Spark.
        from magnetar.tools.quickstart.spark_work import SparkWork  # noqa: PLC0415

        self._plan = plan
        self._broker = broker
        self._board = board
        self._crew = crew
        self._client = blocking.Client(broker.service_url)
        self._spark = SparkWork(broker.service_url, plan.topics, plan.folder, board, crew)
        self._flights: list[Flight] = []
        self._expected: dict[CarrierDay, Figures] = {}
        self._ends: dict[str, Offset] = {}  # Where the input ends, once all_published is set.
        self._all_published = threading.Event()
        self.results = Results(board.results, board.clock)
        self.airlines: dict[str, str] = {}

    def start(self) -> None:
        """Create the topic and start the threads. Raises NotReady when the broker refuses."""
        topics = self._plan.topics
        create_partitioned_topic(self._broker.web_url, topics.flights, self._plan.partitions)
        self._crew.start("spark", lambda: self._spark.run(self._ends, self._all_published))
        self._crew.start("flights", self._replay)
        self._crew.start("results", self._read_results)

    def reconcile(self) -> Reconciliation:
        """Once all threads have ended well: does it add up?"""
        board = self._board
        return reconcile(
            self._flights,
            self._expected,
            Counts(board.published.count, board.windows.count, board.cancelled.count),
            self.results.windows,
            [flight_id for _, flight_id in self.results.cancelled],
        )

    def close(self) -> None:
        """Let nobody wait any longer: neither for the broker, nor for Spark to start."""
        self._client.close()
        self._spark.abandon()

    def _replay(self) -> None:
        board = self._board
        with board.during(board.data_set) as stage:
            loaded = data_set.load(self._plan.flights_max)
            if self._crew.stopping.is_set():
                return
            self.airlines.update(loaded.airlines)
            self._flights = loaded.flights
            messages = to_messages(loaded.flights)
            self._expected = by_carrier_and_day(loaded.flights)
            stage.total = stage.count = len(messages)
        for each in (board.published, board.windows, board.cancelled, board.results):
            each.total = len(messages)
        if self._crew.wait_for(self._spark.listening):
            with board.during(board.published):
                self._publish(messages)

    def _publish(self, messages: list[OutgoingMessage]) -> None:
        """Send them all, the first few to warm up Spark.

        Its first micro-batch takes seconds, whatever is in it: with all messages published by then
        it would be the only one.
        """
        board, crew, topic = self._board, self._crew, self._plan.topics.flights
        first = messages[:WARM_UP]
        ends = publish(self._client, topic, first, board.published, crew.stopping)
        board.published.pause(board.clock.now(), "waits for Spark")
        if crew.wait_for(self._spark.warm):
            board.published.resume(board.clock.now())
            rest = messages[WARM_UP:]
            ends |= publish(self._client, topic, rest, board.published, crew.stopping)
            self._ends.update(ends)
            self._all_published.set()

    def _read_results(self) -> None:
        results, topics = self.results, self._plan.topics
        takers = {topics.results: results.add_windows, topics.cancelled: results.add_cancelled}
        follow(self._client, takers, self._spark.complete, self._crew.stopping)
        self._board.results.ended_s = self._board.clock.now()


@contextmanager
def interruptible(crew: Crew) -> Iterator[None]:
    """Ctrl-C asks the crew to stop; a second one does not wait for it."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        if crew.interrupted:
            raise KeyboardInterrupt
        crew.interrupt()

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
