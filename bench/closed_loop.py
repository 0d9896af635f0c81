"""Throughput: each connection keeps a number of sends on the way; a receipt makes room for one."""

import time
from dataclasses import dataclass
from typing import cast

from magnetar.model.subscriptions import SubscriptionType

from .acknowledging import Acknowledger
from .broker import Broker
from .cases import Case
from .frames import Ring, ring
from .peer import CAN_DRAIN, Drain, Peer, Publisher, Subscriber
from .poller import READ, WRITE, Poller

DRAIN_S_MAX = 5.0  # What is on the way when it ends is waited for, so long at most.


@dataclass(slots=True)
class Throughput:
    """What one run of a closed loop came to."""

    entries_per_s: float
    messages_per_s: float
    deliveries_per_s: float  # Entries, over all consumers.
    mb_per_s: float  # Of frames published.
    broker_cpu_us: float  # Per entry published.
    kernel_us: float  # Of that, in the kernel: sockets, files, page faults.
    broker_cpu_share: float  # Of one core.
    generator_cpu_share: float
    memory_mb: float
    bookies_cpu_us: float = 0.0  # Of all bookies together, per entry published.

    @property
    def generator_cpu_us(self) -> float:
        """CPU of the generator per entry published."""
        return self.generator_cpu_share / max(self.entries_per_s, 1e-9) * 1e6

    @property
    def all_cpu_us(self) -> float:
        """CPU per entry published of all who have a part in it."""
        return self.broker_cpu_us + self.bookies_cpu_us + self.generator_cpu_us

    def figure(self, case: Case) -> float:
        """The one that is compared: messages a second, delivered where there are consumers."""
        if case.consumers:
            return self.deliveries_per_s * case.batch
        return self.messages_per_s


@dataclass(slots=True)
class _Mark:
    at: float
    receipts: int
    deliveries: int
    broker_cpu_s: tuple[float, float]
    generator_cpu_s: float
    bookies_cpu_s: float


class ClosedLoop:
    """One run of a case. Topics are new ones."""

    def __init__(self, broker: Broker, case: Case, namespace: str = "public/default") -> None:
        self._broker = broker
        self._case = case
        self._ring: Ring = ring(case)
        self._poller = Poller()
        stamp = time.time_ns()
        self.topics = [
            f"persistent://{namespace}/load-{stamp}-{number}" for number in range(case.topics)
        ]
        each, producers = case.topics_per_connection, case.producers
        self.publishers: list[Publisher] = []
        self._subscribers: list[Subscriber] = []
        for number in range(case.connections):
            first = number * each % case.topics
            topics = self.topics[first : first + each] * producers
            self.publishers.append(Publisher(broker.address_of(topics[0]), topics, self._ring))
        for number in range(case.consumers):
            self._subscribers.append(self._subscriber(number))
        self._peers: dict[int, Peer] = {
            peer.fileno: peer for peer in (*self.publishers, *self._subscribers)
        }
        self.sent = 0

    def run(self) -> Throughput:
        """Warm up, measure, and wait for what is on the way."""
        for peer in self._peers.values():
            peer.go()
            peer.bytes_read = 0
            self._poller.register(peer.fileno, READ)
        for publisher in self.publishers:
            self._send(publisher, self._case.in_flight)
        self._turn_until(time.perf_counter() + self._case.warm_up_s)
        before = self._mark()
        self._turn_until(time.perf_counter() + self._case.seconds)
        after = self._mark()
        memory_mb = self._broker.memory_mb()
        self._wait_for_the_rest()
        return self._between(before, after, memory_mb)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        self._poller.close()
        self._broker.delete_topics(self.topics)

    def _subscriber(self, number: int) -> Subscriber:
        case, topic = self._case, self.topics[0]
        address = self._broker.address_of(topic)
        name = f"load-{number}"
        if case.acks:
            name = name if case.kind is SubscriptionType.EXCLUSIVE else "load"
            return Acknowledger(address, topic, name, case.kind, case.acks)
        kind = Drain if number and CAN_DRAIN else Subscriber
        return kind(address, topic, name)

    def _turn_until(self, end: float) -> None:
        peers, ready, now = self._peers, self._poller.ready, time.perf_counter
        publishers = cast("dict[int, Publisher]", peers)  # Only they get receipts, or are full.
        while now() < end:
            for fileno, event in ready(0.05):
                peer = peers[fileno]
                if event & ~WRITE:
                    before = peer.counter.receipts
                    peer.read()
                    more = peer.counter.receipts - before
                    if more:
                        self._send(publishers[fileno], more)
                if event & WRITE and publishers[fileno].send(0):
                    self._poller.modify(fileno, READ)

    def _send(self, publisher: Publisher, frames: int) -> None:
        self.sent += frames
        full = publisher.owed > 0
        if not publisher.send(frames) and not full:
            self._poller.modify(publisher.fileno, READ | WRITE)

    def _wait_for_the_rest(self) -> None:
        """So that the next run finds a broker at rest. What is owed is not sent any more."""
        end = time.perf_counter() + DRAIN_S_MAX
        unsent = sum(peer.unsent for peer in self.publishers)
        while self.receipts() < self.sent - unsent and time.perf_counter() < end:
            for fileno, event in self._poller.ready(0.05):
                if event & ~WRITE:
                    self._peers[fileno].read()
                elif isinstance(peer := self._peers[fileno], Publisher):
                    peer.owed = 0
                    self._poller.modify(fileno, READ)

    def receipts(self) -> int:
        return sum(peer.counter.receipts for peer in self.publishers)

    def _mark(self) -> _Mark:
        for peer in self._subscribers:
            seen = self._subscribers[0].counter
            if isinstance(peer, Drain) and seen.messages:
                peer.message_size = seen.message_bytes / seen.messages
        deliveries = sum(peer.delivered for peer in self._subscribers)
        return _Mark(
            time.perf_counter(),
            self.receipts(),
            deliveries,
            self._broker.cpu_times_s(),
            time.process_time(),
            self._broker.bookies_cpu_s(),
        )

    def _between(self, before: _Mark, after: _Mark, memory_mb: float) -> Throughput:
        seconds = after.at - before.at
        entries = after.receipts - before.receipts
        kernel_s = after.broker_cpu_s[1] - before.broker_cpu_s[1]
        cpu_s = sum(after.broker_cpu_s) - sum(before.broker_cpu_s)
        return Throughput(
            entries_per_s=entries / seconds,
            messages_per_s=entries * self._ring.messages_per_frame / seconds,
            deliveries_per_s=(after.deliveries - before.deliveries) / seconds,
            mb_per_s=entries * self._ring.frame_size / seconds / 1e6,
            broker_cpu_us=cpu_s / max(entries, 1) * 1e6,
            kernel_us=kernel_s / max(entries, 1) * 1e6,
            broker_cpu_share=cpu_s / seconds,
            generator_cpu_share=(after.generator_cpu_s - before.generator_cpu_s) / seconds,
            memory_mb=memory_mb,
            bookies_cpu_us=(after.bookies_cpu_s - before.bookies_cpu_s) / max(entries, 1) * 1e6,
        )
