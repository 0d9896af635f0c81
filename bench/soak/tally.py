"""What was sent, what was answered, and what came out again: message by message. Pure.

A *stream* is what one producer sends: messages numbered from 0, each saying stream and number, the
rest of it known bytes. A *reading* is what one subscription saw of a stream. Both take one byte a
message, and may be called from any thread.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

KIB = 1024
_FILLING = Random(1).randbytes(16 * KIB * KIB)
_OFFSETS = 4096
SAMPLES_MAX = 20


@dataclass(slots=True)
class Complaints:
    """What went wrong, counted by kind, and the first few of each in words."""

    counts: dict[str, int] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)

    def add(self, kind: str, what: str) -> None:
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        if count <= SAMPLES_MAX:
            self.samples.append(f"{kind}: {what}")


class Stream:
    """What one producer sends. ``lanes``: order holds among every lanes-th message (keys)."""

    def __init__(
        self, name: str, sizes: tuple[int, ...], lanes: int = 1, *, lossy: bool = False
    ) -> None:
        self.name = name
        self.lanes = lanes
        self.lossy = lossy
        self._sizes = sizes
        self._answered = bytearray()  # By number; grows by doubling.
        self.sent = 0
        self.answered = 0
        self.failed = 0

    def body(self, number: int) -> bytes:
        """The message of this number, the same whenever asked."""
        head = b"%s/%d|" % (self.name.encode(), number)
        start = number % _OFFSETS
        size = max(self._sizes[number % len(self._sizes)] - len(head), 0)
        return head + _FILLING[start : start + size]

    def key(self, number: int) -> str:
        return f"{self.name}-{number % self.lanes}"

    def on_answer(self, number: int) -> None:
        _mark(self._answered, number)
        self.answered += 1

    def was_answered(self, number: int) -> bool:
        return number < len(self._answered) and bool(self._answered[number])


class Reading:
    """What one subscription saw of one stream. Only who is ``ordered`` promises an order."""

    def __init__(self, stream: Stream, *, ordered: bool, every: int = 1) -> None:
        """``every``: so many of the stream's messages are to be seen, the others may be."""
        self.stream = stream
        self._ordered = ordered
        self._every = every
        self._seen = bytearray()
        self._highest = [-1] * stream.lanes
        self._acknowledged = bytearray()
        self.delivered = 0
        self.repeated = 0
        self.disordered = 0
        self.excused: set[int] = set()  # Expired or evicted, as was asked for.

    @property
    def distinct(self) -> int:
        return self.delivered - self.repeated

    @property
    def answered(self) -> int:
        """Of what is to be seen."""
        return sum(map(self.stream.was_answered, range(0, self.stream.sent, self._every)))

    @property
    def acknowledged(self) -> int:
        return sum(self._acknowledged)

    def on_acknowledgement(self, number: int) -> None:
        _mark(self._acknowledged, number)

    def was_seen(self, number: int) -> bool:
        return number < len(self._seen) and bool(self._seen[number])

    def on_message(self, number: int) -> bool:
        """Count it. False: it came for the first time, after one that was sent later."""
        self.delivered += 1
        if self.was_seen(number):
            self.repeated += 1
            return True
        _mark(self._seen, number)
        lane = number % self.stream.lanes
        if number < self._highest[lane]:
            self.disordered += self._ordered
            return not self._ordered
        self._highest[lane] = number
        return True

    def missing(self) -> list[int]:
        """Answered, and never delivered."""
        return [] if self.stream.lossy else self.unseen()

    def unseen(self) -> list[int]:
        """The same, also where it may be."""
        return [
            number
            for number in range(0, self.stream.sent, self._every)
            if self.stream.was_answered(number)
            and not self.was_seen(number)
            and number not in self.excused
        ]

    def held(self) -> list[int]:
        """Answered and delivered, and never acknowledged."""
        return [
            number
            for number in range(0, self.stream.sent, self._every)
            if self.stream.was_answered(number)
            and self.was_seen(number)
            and not (number < len(self._acknowledged) and self._acknowledged[number])
        ]


class Tally:
    """All streams and readings of a run."""

    def __init__(self) -> None:
        self.streams: dict[str, Stream] = {}
        self.readings: dict[tuple[str, str], Reading] = {}  # By stream and subscription.
        self.complaints = Complaints()
        self.expected_failures: dict[str, int] = {}  # Calls that failed because of a kill or so.
        self.done: dict[str, int] = {}  # What else went on, by name.

    def stream(
        self,
        name: str,
        sizes: tuple[int, ...],
        subscriptions: dict[str, bool],
        *,
        lanes: int = 1,
        lossy: bool = False,
    ) -> Stream:
        """A new one; ``subscriptions``: who is to see all of it, and whether in order."""
        assert name not in self.streams, name
        stream = self.streams[name] = Stream(name, sizes, lanes, lossy=lossy)
        for subscription, ordered in subscriptions.items():
            self.readings[name, subscription] = Reading(stream, ordered=ordered)
        return stream

    def take(self, subscription: str, data: bytes, where: str) -> tuple[Stream, int] | None:
        """A message came: whose, and its number. None when its bytes are not what was sent."""
        head, _, _ = data[:200].partition(b"|")
        name, _, number_text = head.decode(errors="replace").rpartition("/")
        stream = self.streams.get(name)
        if stream is None or not number_text.isdecimal():
            self.complaints.add("foreign message", f"{head[:60]!r} on {where}")
            return None
        number = int(number_text)
        if data != stream.body(number):
            self.complaints.add("damaged message", f"{name}/{number} on {where}")
            return None
        reading = self.readings.get((name, subscription))
        if reading is not None and not reading.on_message(number):
            self.complaints.add("out of order", f"{name}/{number} on {where}, {subscription}")
        return stream, number

    def on_acknowledgement(self, subscription: str, stream: Stream, number: int) -> None:
        self.readings[stream.name, subscription].on_acknowledgement(number)

    def missing(self) -> dict[tuple[str, str], list[int]]:
        """By stream and subscription: what was answered and not delivered."""
        found = {key: reading.missing() for key, reading in self.readings.items()}
        return {key: numbers for key, numbers in found.items() if numbers}

    def total(self, of: Callable[[Stream], int]) -> int:
        return sum(of(stream) for stream in list(self.streams.values()))

    @property
    def delivered(self) -> int:
        return sum(reading.delivered for reading in list(self.readings.values()))

    @property
    def repeated(self) -> int:
        return sum(reading.repeated for reading in list(self.readings.values()))

    def did(self, what: str, times: int = 1) -> None:
        self.done[what] = self.done.get(what, 0) + times

    def expected(self, what: str) -> None:
        """A call failed, as calls may while a broker is away."""
        self.expected_failures[what] = self.expected_failures.get(what, 0) + 1


def _mark(flags: bytearray, number: int) -> None:
    if number >= len(flags):
        flags.extend(bytes(max(number + 1 - len(flags), len(flags), 64)))
    flags[number] = 1
