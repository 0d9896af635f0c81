"""One run of the quickstart: who does what, in which thread.

    main       starts the others, shows the board, takes Ctrl-C, reconciles
    flights    reads the data set, then publishes it: some to warm up Spark, then the rest
    spark      runs Spark and both queries until they have read everything (``queries.py``)
    results    reads the pipeline's two topics until the queries have ended

The threads wait for each other on events, and stop together (``crew.py``).
"""

from concurrent.futures import Future
from pathlib import Path

from magnetar.client import blocking
from magnetar.client.message import OutgoingMessage
from magnetar.tools.quickstart import flights as data_set
from magnetar.tools.quickstart.board import Board
from magnetar.tools.quickstart.crew import Crew
from magnetar.tools.quickstart.figures import CarrierDay, Figures, by_carrier_and_day
from magnetar.tools.quickstart.flights import Flight
from magnetar.tools.quickstart.publish import publish, to_messages
from magnetar.tools.quickstart.queries import Ends, Queries
from magnetar.tools.quickstart.reconcile import Counts, Reconciliation, reconcile
from magnetar.tools.quickstart.results import Results, follow
from magnetar.tools.quickstart.topics import QuickstartTopics

WARM_UP = 2_000
"""Messages of the first micro-batch."""


class Run:
    """``start`` a run, watch its crew, ``close`` it, join the crew, then ``reconcile``."""

    def __init__(
        self,
        service_url: str,
        topics: QuickstartTopics,
        flights_max: int | None,
        folder: Path,
        board: Board,
    ) -> None:
        """``folder`` is for checkpoints and logs."""
        self._topics = topics
        self._flights_max = flights_max
        self._board = board
        self._client = blocking.Client(service_url)
        self._flights: list[Flight] = []
        self._expected: dict[CarrierDay, Figures] = {}
        self._ends: Ends = Future()
        self.crew = Crew()
        self.results = Results(board.results)
        self.airlines: dict[str, str] = {}
        self._queries = Queries(service_url, topics, folder, board, self.crew)

    def start(self) -> None:
        self.crew.start("spark", lambda: self._queries.run(self._ends))
        self.crew.start("flights", self._replay)
        self.crew.start("results", self._read_results)

    def reconcile(self) -> Reconciliation:
        """Does it add up? To be asked when all threads have ended well."""
        board = self._board
        return reconcile(
            self._flights,
            self._expected,
            Counts(board.published.count, board.windows.count, board.cancelled.count),
            self.results.windows,
            [flight_id for _, flight_id in self.results.cancelled],
        )

    def close(self) -> None:
        """Stop the threads, which need not wait for the broker then, nor for Spark to start."""
        self.crew.stopping.set()
        self._client.close()
        self._queries.abandon()

    def _replay(self) -> None:
        board = self._board
        with board.data_set.during():
            self._flights, airlines = data_set.load(self._flights_max)
            self.crew.pause(0)
            self.airlines.update(airlines)
            messages = to_messages(self._flights)
            self._expected = by_carrier_and_day(self._flights)
            board.data_set.count = len(messages)
        for stage in board.stages:
            stage.total = len(messages) if stage.unit else 0
        self.crew.wait(self._queries.listening)
        with board.published.during():
            self._publish(messages)

    def _publish(self, messages: list[OutgoingMessage]) -> None:
        """Send them all, the first few to warm up Spark.

        Its first micro-batch takes seconds, whatever is in it: with all messages published by then
        it would be the only one.
        """
        crew, stage, topic = self.crew, self._board.published, self._topics.flights
        ends = publish(self._client, topic, messages[:WARM_UP], stage, crew)
        with stage.paused("waits for Spark"):
            crew.wait(self._queries.warm)
        ends |= publish(self._client, topic, messages[WARM_UP:], stage, crew)
        self._ends.set_result(ends)

    def _read_results(self) -> None:
        takers = {
            self._topics.results: self.results.add_windows,
            self._topics.cancelled: self.results.add_cancelled,
        }
        follow(self._client, takers, self._queries.complete, self.crew)
        self._board.results.ended_s = self._board.results.clock.now()
