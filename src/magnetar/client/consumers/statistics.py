"""Shows what all topics' parts of a consumer or reader have counted. Pure."""

from collections.abc import Mapping

from magnetar.client.statistics import ConsumerStats, Counts, Rates
from magnetar.clock import Clock

from .topic_consumer import TopicConsumer


class ConsumerStatistics:
    """The statistics of one consumer or reader."""

    def __init__(self, parts: Mapping[str, TopicConsumer], clock: Clock) -> None:
        """``parts`` may become more, and fewer by ``left``."""
        self._parts = parts
        self._clock = clock
        self._rates = Rates(clock.now())
        self._left, self._left_acks = Counts(0, 0), 0  # What parts had counted that went.

    def stats(self) -> ConsumerStats:
        received = self._received()
        messages_per_s, bytes_per_s = self._rates.now(self._clock.now(), received)
        parts = self._parts.values()
        return ConsumerStats(
            messages_received=received.messages,
            bytes_received=received.size_bytes,
            acks_sent=self._left_acks + sum(part.acks.sent for part in parts),
            messages_queued=sum(part.incoming.queued for part in parts),
            messages_per_s=messages_per_s,
            bytes_per_s=bytes_per_s,
        )

    def end_interval(self) -> ConsumerStats:
        """Begin the next interval, and show the one that has ended."""
        self._rates.end_interval(self._clock.now(), self._received())
        return self.stats()

    def remove(self, part: TopicConsumer) -> None:
        """A topic went, with its counters."""
        self._left.messages += part.incoming.received.messages
        self._left.size_bytes += part.incoming.received.size_bytes
        self._left_acks += part.acks.sent

    def _received(self) -> Counts:
        received = [self._left, *(part.incoming.received for part in self._parts.values())]
        return Counts(
            sum(each.messages for each in received), sum(each.size_bytes for each in received)
        )
