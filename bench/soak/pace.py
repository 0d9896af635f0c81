"""How many messages of a flow are due on each topic. Pure."""

from collections.abc import Callable

from .flows import Flow

TICK_S = 0.05  # Between two looks at what is due.
BURST_S = 1.0  # What was not sent while a broker was away is made up for, so much of it at most.


class Pace:
    """A flow's fixed rate, topic by topic, from ``now`` (seconds) on."""

    def __init__(self, flow: Flow, now: float) -> None:
        self._rate = flow.rate
        self._due = dict.fromkeys(flow.all_topics, 0.0)
        self._at = now

    def send_due(self, now: float, send: Callable[[str], bool]) -> None:
        """Call ``send`` with a topic for each message due on it; False: not at the moment."""
        due, most = self._due, max(self._rate * BURST_S, 1.0)
        for topic in due:
            due[topic] = min(due[topic] + (now - self._at) * self._rate, most)
            while due[topic] >= 1 and send(topic):
                due[topic] -= 1
        self._at = now
