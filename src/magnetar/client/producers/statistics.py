"""Shows what all partitions' parts of a producer have counted. Pure."""

from magnetar.client.statistics import Counts, Latencies, Latency, ProducerStats, Rates
from magnetar.clock import Clock

from .topic_producer import TopicProducer


class ProducerStatistics:
    """The statistics of one producer."""

    def __init__(self, parts: list[TopicProducer], clock: Clock) -> None:
        """``parts`` may become more."""
        self._parts = parts
        self._clock = clock
        self._rates = Rates(clock.now())
        self._latencies: Latencies | None = None
        self._latency: Latency | None = None  # Of the last interval.

    def stats(self) -> ProducerStats:
        pendings = [part.queue.pending for part in self._parts]
        sent = self._sent()
        messages_per_s, bytes_per_s = self._rates.now(self._clock.now(), sent)
        return ProducerStats(
            messages_sent=sent.messages,
            bytes_sent=sent.size_bytes,
            messages_stored=sum(pending.stored_messages for pending in pendings),
            messages_failed=sum(pending.failed_messages for pending in pendings),
            messages_pending=sum(pending.messages for pending in pendings),
            messages_per_s=messages_per_s,
            bytes_per_s=bytes_per_s,
            latency=self._latency,
        )

    def measure(self) -> None:
        """Measure latencies from now on, also of parts that were added."""
        self._latencies = self._latencies or Latencies()
        for part in self._parts:
            part.queue.sends.latencies = self._latencies

    def end_interval(self) -> ProducerStats:
        """Begin the next interval, and show the one that has ended."""
        self._rates.end_interval(self._clock.now(), self._sent())
        if self._latencies is not None:
            self._latency = self._latencies.take()
            self.measure()
        return self.stats()

    def _sent(self) -> Counts:
        sent = [part.queue.pending.sent for part in self._parts]
        return Counts(sum(each.messages for each in sent), sum(each.size_bytes for each in sent))
