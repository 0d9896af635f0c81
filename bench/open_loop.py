"""Latency: sends at a rate that nothing slows down, each timed from when it was meant to go."""

import ctypes
import select
import sys
import time
from bisect import bisect_right
from dataclasses import dataclass

from hdrh.histogram import HdrHistogram

from .broker import Broker
from .cases import Case
from .frames import ring
from .peer import Publisher, Subscriber

LATE_S_MAX = 10.0  # How long after the end answers are waited for.
HIGHEST_US = 60_000_000
DIGITS = 3
_PR_SET_TIMERSLACK = 29

Arrivals = list[tuple[float, int]]
"""When something came, and how many had come by then."""


@dataclass(slots=True)
class Spread:
    """Some percentiles, in milliseconds."""

    p50: float
    p99: float
    p999: float
    worst: float
    count: int


@dataclass(slots=True)
class Latency:
    """What one run of an open loop came to."""

    rate: float  # Sends a second that were answered.
    publish: Spread
    end_to_end: Spread | None
    late: Spread  # The generator itself: between the intended time and the send.
    broker_cpu_us: float
    broker_cpu_share: float
    generator_cpu_share: float
    memory_mb: float


class OpenLoop:
    """One run of a case with a rate: one producer, at most one consumer that is looked at."""

    def __init__(self, broker: Broker, case: Case) -> None:
        self._broker = broker
        self._case = case
        stamp = time.time_ns()
        self.topics = [f"persistent://public/default/load-{stamp}"]
        self._publisher = Publisher(broker.address, self.topics, ring(case))
        self._subscriber = (
            Subscriber(broker.address, self.topics[0], "load") if case.consumers else None
        )
        self._started = 0.0
        self._count = 0  # Sends so far.
        self._sends: Arrivals = []
        self._receipts: Arrivals = []
        self._deliveries: Arrivals = []

    def run(self) -> Latency:
        """Warm up at the same rate, measure, and wait for what is late."""
        case = self._case
        _short_timer_slack()
        self.begin()
        self._go_on(case.warm_up_s)
        started, first = self._started, self._count
        cpu_s, own_s, at = self._broker.cpu_s(), time.process_time(), time.perf_counter()
        self._go_on(case.seconds)
        count = self._count
        seconds = time.perf_counter() - at
        cpu_s, own_s = self._broker.cpu_s() - cpu_s, time.process_time() - own_s
        memory_mb = self._broker.memory_mb()
        self._wait_for(count)

        def spread(arrivals: Arrivals) -> Spread:
            return spread_of(arrivals, started=started, rate=case.rate, first=first, count=count)

        publish = spread(self._receipts)
        return Latency(
            rate=publish.count / case.seconds,
            publish=publish,
            end_to_end=spread(self._deliveries) if self._subscriber else None,
            late=spread(self._sends),
            broker_cpu_us=cpu_s / (case.rate * case.seconds) * 1e6,
            broker_cpu_share=cpu_s / seconds,
            generator_cpu_share=own_s / seconds,
            memory_mb=memory_mb,
        )

    def begin(self) -> None:
        """Let the time run from which each send is counted."""
        self._publisher.go()
        if self._subscriber:
            self._subscriber.go()
        self._started = time.perf_counter() + 0.01

    def close(self) -> None:
        self._publisher.close()
        if self._subscriber:
            self._subscriber.close()
        self._broker.delete_topics(self.topics)

    def _go_on(self, seconds: float) -> None:
        """For so long: send what is due, read what has come, sleep until the next is due."""
        rate, now, started = self._case.rate, time.perf_counter, self._started
        self._count = count = self._count + int(rate * seconds)
        sent = self._sends[-1][1] if self._sends else 0
        while sent < count:
            at = now()
            due = min(int((at - started) * rate) + 1, count) if at >= started else 0
            if due > sent:
                self._publisher.send(due - sent)
                sent = due
                self._sends.append((at, sent))
            self._read(started + sent / rate - now())

    def _wait_for(self, count: int) -> None:
        end = time.perf_counter() + LATE_S_MAX
        while time.perf_counter() < end:
            received = self._publisher.counter.receipts
            if self._subscriber:
                received = min(received, self._subscriber.counter.messages)
            if received >= count:
                return
            self._read(0.05)

    def _read(self, timeout_s: float) -> None:
        """``select``, since its timeout alone is in microseconds."""
        publisher, subscriber = self._publisher, self._subscriber
        sockets = [publisher.socket, subscriber.socket] if subscriber else [publisher.socket]
        unsent = [publisher.socket] if publisher.owed else []
        readable, writable, _ = select.select(sockets, unsent, [], max(timeout_s, 0))
        at = time.perf_counter()
        if publisher.socket in readable:
            publisher.read()
            self._receipts.append((at, publisher.counter.receipts))
        if subscriber and subscriber.socket in readable:
            subscriber.read()
            self._deliveries.append((at, subscriber.counter.messages))
        if writable:
            publisher.send(0)


def spread_of(arrivals: Arrivals, *, started: float, rate: float, first: int, count: int) -> Spread:
    """How late numbers ``first`` to ``count`` - 1 were; number n was meant for started + n / rate.

    One that never arrived counts as arriving at the end of the waiting.
    """
    histogram = HdrHistogram(1, HIGHEST_US, DIGITS)
    number = first
    for at, by_then in arrivals[bisect_right(arrivals, first, key=lambda pair: pair[1]) :]:
        while number < min(by_then, count):
            late_us = (at - started - number / rate) * 1e6
            histogram.record_value(min(max(int(late_us), 1), HIGHEST_US))
            number += 1
    arrived = number - first
    if number < count:
        histogram.record_value(int(LATE_S_MAX * 1e6), count - number)
    return Spread(
        p50=histogram.get_value_at_percentile(50) / 1e3,
        p99=histogram.get_value_at_percentile(99) / 1e3,
        p999=histogram.get_value_at_percentile(99.9) / 1e3,
        worst=histogram.get_max_value() / 1e3,
        count=arrived,
    )


def _short_timer_slack() -> None:
    """Sleep to the microsecond: Linux otherwise wakes up to 50 us late to save power."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, 1, 0, 0, 0)
