"""What a receiver is made of and those who subscribe it to topics change: its topics."""

from collections.abc import Callable
from typing import Any

from magnetar.clock import Clock
from magnetar.tasks import Tasks

from .interceptors import ConsumerInterceptors
from .receive_queues import ReceiveQueues
from .statistics import ConsumerStatistics
from .topic_consumer import TopicConsumer
from .topic_consumers import TopicConsumers


class ReceivedTopics:
    """The topics of one receiver, which come and go."""

    interceptors: ConsumerInterceptors | None = None
    face: Callable[[], Any]
    """Returns what the application holds, the receiver or its blocking facade, or None any more."""

    def __init__(self, topic: str, name: str, clock: Clock, *, paused: bool) -> None:
        """``topic`` is how the receiver calls all of them."""
        self.name = name
        self.paused = paused
        self.parts = TopicConsumers(topic)
        self.queues = ReceiveQueues(self.parts, lambda: self.leave(None))
        self.statistics = ConsumerStatistics(self.parts.by_topic, clock)
        self.tasks = Tasks(f"consumer of {topic}")
        self.leave: Callable[[TopicConsumer | None], None] = lambda _: None
        """Called when no more opened messages may be taken from a topic; None: from any."""

    def add(self, part: TopicConsumer) -> None:
        """Receive from one more topic."""
        self.parts.add(part)
        part.incoming.pause(paused=self.paused)
        self.queues.added(part)

    def remove(self, part: TopicConsumer) -> None:
        """Receive from it no longer; its messages may still be acknowledged, to no effect."""
        if self.parts.remove(part):
            self.statistics.remove(part)
        self.queues.removed(part)
        self.leave(part)

    def pause(self, *, paused: bool) -> None:
        """Have the brokers send no more, or send again."""
        self.paused = paused
        for part in self.parts:
            part.incoming.pause(paused=paused)

    def fail(self, part: TopicConsumer) -> None:
        """End with a topic that is over: calls raise why when nothing waits."""
        self.parts.failure = part.over
        self.queues.wake()
