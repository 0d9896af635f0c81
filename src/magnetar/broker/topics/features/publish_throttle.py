"""Holds the producers of a topic to the rates at which may be published."""

from collections.abc import Callable, Sequence

from magnetar.broker.topics.features import rate_limit
from magnetar.broker.topics.features.rate_limit import RateLimit
from magnetar.broker.topics.publishing.producer import Producer
from magnetar.clock import Clock
from magnetar.message.send_run import SendRun

Publish = Callable[[Producer, SendRun], None]


class PublishThrottle:
    """Passes runs on to ``unlimited``, and has no more read of a client that goes too fast."""

    __slots__ = ("_clock", "limited_at", "limited_by", "limited_count", "limits", "unlimited")

    def __init__(self, publish: Publish, clock: Clock) -> None:
        self.unlimited = publish
        self.limits: Sequence[RateLimit] = ()
        self.limited_count = 0
        """How often a client had to wait,"""
        self.limited_at = 0.0
        """when the last time was, by ``Clock.now``,"""
        self.limited_by = ""
        """and for whose limit."""
        self._clock = clock

    def publish(self, producer: Producer, run: SendRun) -> None:
        """Count a run, which was read already, and let its client wait if that is too much."""
        now, messages, used_up = self._clock.now(), run.message_count, ""
        for limit in self.limits:
            if limit.take(messages, run.size_bytes, now):
                used_up = limit.name
        if used_up:
            self.limited_count += 1
            self.limited_at, self.limited_by = now, used_up
            producer.connection.read_later(self.wait_s)
        self.unlimited(producer, run)

    def wait_s(self) -> float:
        """How long its producers must wait before they send more; 0: they need not."""
        return rate_limit.wait_s(self.limits, self._clock.now())
