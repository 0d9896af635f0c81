"""Three processes of which one is the writer of a topic, killed now and then: never two writers."""

import subprocess
import sys
import threading
from contextlib import suppress
from itertools import count
from random import Random
from typing import Any

import pulsar

from bench.soak.flows import NAMESPACE, SUBSCRIPTION
from bench.soak.official import open_client
from bench.soak.tally import Tally

from .account import Row

TOPIC = f"persistent://{NAMESPACE}/leadership"
CANDIDATES = 3
KILL_S = 15.0


class Leadership:
    """``start``, ``stop_sending``, ``close``; ``row`` is what came of it."""

    def __init__(self, url: str, tally: Tally, seed: int) -> None:
        self._url = url
        self._tally = tally
        self._chance = Random(seed)
        self._client = open_client(url)
        self._names = count()
        self._lock = threading.Lock()
        self._answered: set[tuple[str, int]] = set()
        self._seen: set[tuple[str, int]] = set()
        self._writers: list[str] = []  # In the order in which they wrote first.
        self._repeated = self._disordered = 0
        self._highest: dict[str, int] = {}
        self._ended = threading.Event()
        self._candidates: list[subprocess.Popen[str]] = []
        self._readers: list[threading.Thread] = []
        self._killer = threading.Thread(target=self._kill_now_and_then, daemon=True)

    def start(self) -> None:
        self._client.subscribe(TOPIC, SUBSCRIPTION, message_listener=self._take)
        for _ in range(CANDIDATES):
            self._candidates.append(self._candidate())
        self._killer.start()

    def stop_sending(self) -> None:
        self._ended.set()
        self._killer.join()
        for each in self._candidates:
            each.kill()
            each.wait()
        for reader in self._readers:
            reader.join()

    def close(self) -> None:
        with suppress(pulsar.PulsarException):
            self._client.close()

    @property
    def answered(self) -> int:
        return len(self._answered)

    def row(self, backlog: int) -> Row:
        lost = len(self._answered - self._seen)
        return Row(
            "leadership",
            f"WaitForExclusive, {len(self._writers)} leaders",
            answered=len(self._answered),
            delivered=len(self._seen),
            acknowledged=len(self._seen),
            repeated=self._repeated,
            excused=0,
            lost=lost,
            disordered=self._disordered,
            backlog=backlog,
        )

    def _candidate(self) -> "subprocess.Popen[str]":
        name = f"candidate{next(self._names)}"
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.soak.semantics.leading", self._url, TOPIC, name],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._readers.append(threading.Thread(target=self._read, args=(process,), daemon=True))
        self._readers[-1].start()
        return process

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            writer, _, number = line.strip().partition(" ")
            if number.isdecimal() and line.endswith("\n"):
                with self._lock:
                    self._answered.add((writer, int(number)))

    def _take(self, consumer: Any, message: Any) -> None:
        writer, _, number_text = message.data().decode().partition(" ")
        number = int(number_text)
        with self._lock:
            if (writer, number) in self._seen:
                self._repeated += 1
            else:
                self._seen.add((writer, number))
                if writer not in self._writers:
                    self._writers.append(writer)
                if writer != self._writers[-1] or number < self._highest.get(writer, -1):
                    self._disordered += 1
                    what = f"{writer} wrote {number} after {self._writers[-1]} had begun"
                    self._tally.complaints.add("two writers", what)
                self._highest[writer] = max(number, self._highest.get(writer, -1))
        with suppress(pulsar.PulsarException):
            consumer.acknowledge(message)

    def _kill_now_and_then(self) -> None:
        while not self._ended.wait(self._chance.uniform(0.5, 1.5) * KILL_S):
            place = self._chance.randrange(CANDIDATES)
            self._candidates[place].kill()
            self._candidates[place].wait()
            self._candidates[place] = self._candidate()
            self._tally.did("writers killed")
