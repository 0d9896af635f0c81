"""A broker that notes when each run of entries passes each stage: ``python -m bench.stage_clock``.

It is ``magnetar`` with methods wrapped before it starts, so that a broker nobody looks into has
nothing of this in it. When it ends, it writes what it saw as JSON to the file that ``NOTES_TO``
names. ``bench/stages.py`` starts it and reads that.
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any, Final

from magnetar.broker.connection import Connection
from magnetar.broker.outbox import Outbox
from magnetar.broker.session import Session
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.message.send_run import SendRun
from magnetar.storage.ledger.local.log_thread import LogThread
from magnetar.tools import cli

NOTES_TO: Final = "MAGNETAR_BENCH_STAGES"
STAGES: Final = (
    "received",
    "decoded",
    "appended",
    "handed to the log",
    "taken by its thread",
    "written",
    "synced",
    "answered",
    "receipt written",
)
"""What is done with a run, in this order; a run waits between each and the next."""

Stamps = list[float]
"""How many entries a run has, and when it passed each stage."""


class StageClock:
    """What was seen of this process so far."""

    def __init__(self) -> None:
        self._received = 0.0
        self._on_their_way: dict[int, Stamps] = {}  # By the identity of the run.
        self._appended: list[Stamps] = []  # Since the log was handed over last.
        self._commits: dict[int, list[Stamps]] = {}  # By the identity of the commit.
        self._answered: dict[int, list[Stamps]] = defaultdict(list)  # By that of the outbox.
        self._written = self._synced = 0.0
        self.done: list[Stamps] = []
        self.groups: list[tuple[float, float, float]] = []
        """When the log's thread took, had written and had synced each group."""
        self.cpu_s: list[tuple[float, float, float]] = []
        """At a time: CPU of the process, and of the event loop's thread."""

    def start(self) -> None:
        """Wrap the methods that a run passes through. Call it before a broker is made."""
        _before(Connection, "buffer_updated", self._receive)
        _before(TopicWriter, "publish", self._decode)
        _before(TopicWriter, "_store", self._append)
        _before(LogThread, "submit", self._hand_over)
        _around(LogThread, "_sync", self._sync)
        _around(LogThread, "_execute", self._execute)
        _before(Session, "send_receipts", self._answer)
        _around(Outbox, "flush", self._flush)

    def write(self, path: Path) -> None:
        notes = {"runs": self.done, "groups": self.groups, "cpu": self.cpu_s}
        path.write_text(json.dumps(notes), encoding="utf-8")

    def _receive(self, _connection: Connection, _size: int) -> None:
        self._received = now = perf_counter()
        if not self.cpu_s or now >= self.cpu_s[-1][0] + 0.1:
            self.cpu_s.append((now, process_time(), thread_time()))

    def _decode(self, _writer: TopicWriter, _producer: object, run: SendRun) -> None:
        self._on_their_way[id(run)] = [len(run), self._received, perf_counter()]

    def _append(self, writer: TopicWriter) -> None:
        now = perf_counter()
        for _, run in writer._inbox:  # noqa: SLF001 - it looks into the writer from outside
            stamps = self._on_their_way[id(run)]
            stamps.append(now)
            self._appended.append(stamps)

    def _hand_over(self, _thread: object, commit: object) -> None:
        now = perf_counter()
        appended, self._appended = self._appended, []
        for stamps in appended:
            stamps.append(now)
        self._commits[id(commit)] = appended

    def _sync(self, sync: Callable[..., object], thread: object) -> None:
        self._written = perf_counter()
        sync(thread)
        self._synced = perf_counter()

    def _execute(self, execute: Callable[..., object], thread: object, group: list[object]) -> Any:
        taken = self._written = self._synced = perf_counter()
        error = execute(thread, group)
        written = self._written
        synced = max(self._synced, written)
        for commit in group:
            for stamps in self._commits.pop(id(commit), ()):
                stamps.extend((taken, written, synced))
        self.groups.append((taken, written, synced))
        return error

    def _answer(self, session: Session, run: SendRun, _ledger_id: int, _first: int) -> None:
        stamps = self._on_their_way.pop(id(run))
        stamps.append(perf_counter())
        self._answered[id(session.outbox)].append(stamps)

    def _flush(self, flush: Callable[..., object], outbox: Outbox) -> None:
        flush(outbox)
        answered = self._answered.pop(id(outbox), None)
        if answered is not None:
            now = perf_counter()
            for stamps in answered:
                stamps.append(now)
            self.done += answered


def _before(owner: type, name: str, look: Callable[..., None]) -> None:
    method = getattr(owner, name)

    def wrapped(self: object, *arguments: object) -> object:
        look(self, *arguments)
        return method(self, *arguments)

    setattr(owner, name, wrapped)


def _around(owner: type, name: str, look: Callable[..., Any]) -> None:
    method = getattr(owner, name)

    def wrapped(self: object, *arguments: object) -> object:
        return look(method, self, *arguments)

    setattr(owner, name, wrapped)


def main() -> None:
    clock = StageClock()
    clock.start()
    try:
        cli.main()
    finally:
        clock.write(Path(os.environ[NOTES_TO]))


if __name__ == "__main__":
    main()
