"""What the pipeline says: the messages of its two topics, read back as they appear."""

import json
import threading
from collections.abc import Sequence

from magnetar.client import blocking
from magnetar.client.message import Message
from magnetar.model.names import TopicName
from quickstart.board import Stage
from quickstart.figures import CarrierDay, Figures
from quickstart.reconcile import Window
from quickstart.thread_group import ThreadGroup

_RECEIVED_MAX = 1000
_WAIT_S = 0.2


class Results:
    """The answers so far. A window's last message counts: its figures are a running total."""

    def __init__(self, stage: Stage) -> None:
        """``stage`` counts the flights that are accounted for, in windows or as cancelled.

        It begins with the first message, since Spark is starting before.
        """
        self._stage = stage
        self.windows: dict[CarrierDay, Window] = {}
        self.updates = 0  # Messages with figures, over all windows.
        self.cancelled: list[tuple[str, int]] = []  # Carrier and flight id, each time it came.

    def follow(
        self,
        client: blocking.Client,
        results: TopicName,
        cancelled: TopicName,
        complete: threading.Event,
        threads: ThreadGroup,
    ) -> None:
        """Read both topics from their beginnings, until ``complete`` is set and all was read.

        Nobody may write to them after ``complete`` was set: only then do they have an end.
        """
        with client.create_reader(str(results)) as one, client.create_reader(str(cancelled)) as two:
            following = {one: self.add_windows, two: self.add_cancelled}
            while following:
                threads.check()
                all_written = complete.is_set()
                for reader, take in list(following.items()):
                    if messages := reader.receive_many(_RECEIVED_MAX, _WAIT_S):
                        take(messages)
                    elif all_written and not reader.has_message_available():
                        del following[reader]
        self._stage.ended_s = self._stage.clock.now()

    def add_windows(self, messages: Sequence[Message]) -> None:
        for message in messages:
            where, window = parse_window(message.data)
            before = self.windows.get(where)
            self._count(len(window.flight_ids) - (len(before.flight_ids) if before else 0))
            self.windows[where] = window
        self.updates += len(messages)
        self._stage.note = f"{len(self.windows):,} windows, {self.updates:,} updates"

    def add_cancelled(self, messages: Sequence[Message]) -> None:
        for message in messages:
            flight = json.loads(message.data)
            self.cancelled.append((flight["carrier"], flight["id"]))
        self._count(len(messages))

    def _count(self, flights: int) -> None:
        if self._stage.began_s is None:
            self._stage.began_s = self._stage.clock.now()
        self._stage.count += flights


def parse_window(content: bytes) -> tuple[CarrierDay, Window]:
    """A message of the topic of results; the pipeline leaves out a figure that there is none of."""
    value = json.loads(content)
    figures = Figures(*map(value.get, Figures._fields))
    return CarrierDay(value["carrier"], value["day"]), Window(figures, value["flight_ids"])
