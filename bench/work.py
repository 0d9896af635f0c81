"""How many instructions of the interpreter the broker takes for an entry: counted, not timed.

A broker runs in a thread of this process, on files of its own; the interpreter tells of every
bytecode instruction it executes there in Magnetar's files. Sends go out in bursts of a fixed size,
each answered before the next, so that a burst is a run and the count is the same on every machine,
however busy: what a timer cannot say to 10 % where there are neighbours. What is done in C, for an
entry or for many, does not count; ``bench/guard.py`` looks at CPU beside it.
"""

import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Any

import magnetar
from magnetar.testing.local_broker import BrokerThread

from .cases import Case
from .frames import ring
from .peer import Peer, Publisher, Subscriber

PACKAGE = str(Path(magnetar.__file__).parent) + os.sep
"""What the names of the package's files begin with: a checkout may be called as the package is."""
BURSTS = 12
WARM_UP_BURSTS = 4


@dataclass(frozen=True, slots=True)
class Burst:
    """``count`` entries at a time on one topic, delivered to so many consumers."""

    name: str
    size: int
    count: int
    consumers: int = 0


BURSTS_COUNTED = [
    Burst("100 B, runs of 200", 100, 200),
    Burst("1 KiB, runs of 20", 1024, 20),
    Burst("1 KiB, alone", 1024, 1),
    Burst("1 KiB, runs of 20, delivered to 1", 1024, 20, consumers=1),
    Burst("1 KiB, runs of 20, delivered to 10", 1024, 20, consumers=10),
    Burst("1 KiB, alone, delivered to 1", 1024, 1, consumers=1),
]


class Instructions:
    """Counts those of threads that it is told to, in files of the package."""

    def __init__(self) -> None:
        self.count = 0
        self._inside: dict[str, bool] = {}

    def watch(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        """For ``sys.settrace``: look into Magnetar's own functions only."""
        name = frame.f_code.co_filename
        inside = self._inside.get(name)
        if inside is None:
            inside = self._inside[name] = name.startswith(PACKAGE)
        if not inside:
            return None
        frame.f_trace_lines = False
        frame.f_trace_opcodes = True
        return self._local

    def _local(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        if event == "opcode":
            self.count += 1
        return self._local


def count(bursts: list[Burst] | None = None) -> dict[str, float]:
    """Instructions for each entry, by name of the burst."""
    counted = Instructions()
    threading.settrace(counted.watch)  # Threads that are started from now on.
    try:
        with tempfile.TemporaryDirectory() as folder:
            settings = {"durability": "none"}
            with BrokerThread(Path(folder) / "data", settings=settings) as broker:
                host, _, port = broker.service_url.removeprefix("pulsar://").rpartition(":")
                return {
                    burst.name: _measure((host, int(port)), burst, counted)
                    for burst in bursts or BURSTS_COUNTED
                }
    finally:
        threading.settrace(None)


def _measure(address: tuple[str, int], burst: Burst, counted: Instructions) -> float:
    topic = f"persistent://public/default/work-{abs(hash(burst.name))}"
    publisher = Publisher(address, [topic], ring(Case(burst.name, size=burst.size)))
    subscribers = [Subscriber(address, topic, f"s-{each}") for each in range(burst.consumers)]
    peers: list[Peer] = [publisher, *subscribers]
    found = []
    try:
        for number in range(1, WARM_UP_BURSTS + BURSTS + 1):
            before = counted.count
            publisher.send(burst.count)
            for peer in peers:
                _read_until(peer, number * burst.count)
            found.append((counted.count - before) / burst.count)
    finally:
        for peer in peers:
            peer.close()
    return median(found[WARM_UP_BURSTS:])


def _read_until(peer: Peer, total: int) -> None:
    while peer.counter.receipts + peer.counter.messages < total:
        peer.read()
