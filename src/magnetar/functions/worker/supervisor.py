"""Keeps functions running: starts them, and again when they fail.

Each function has a task that compares what it shall do with what it does. What runs functions
blocks, so it is called in threads; what the status shows is what the last look saw.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from magnetar.clock import Clock
from magnetar.errors import MagnetarError
from magnetar.functions.worker.jobs import Job, Jobs
from magnetar.functions.worker.metadata import FunctionMetaData
from magnetar.functions.worker.restarts import Restarts
from magnetar.functions.worker.status import (
    NOTHING,
    Metrics,
    added,
    function_stats,
    function_status,
    instance_stats,
    instance_status,
    since,
)
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

LOOK_S: Final = 0.5
MINUTE_S: Final = 60.0
SETTLE_S_MAX: Final = 30.0
SNAPSHOT_S: Final = 5.0
"""How often numbers are kept for those of the last minute."""


@dataclass(slots=True)
class _Supervised:
    """A function, what it shall do and what it does."""

    record: FunctionMetaData
    job: Job | None = None
    started: FunctionMetaData | None = None  # As it was when its job began.
    error: str = ""
    restarts: Restarts = field(default_factory=Restarts)
    before: list[Metrics] = field(default_factory=list)  # Of the jobs before this one.
    seen: list[Metrics] = field(default_factory=list)  # Of this job, when last asked.
    snapshots: deque[tuple[float, list[Metrics]]] = field(default_factory=deque)
    removed: bool = False
    restart: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    settled: asyncio.Event = field(default_factory=asyncio.Event)  # No job of another time runs.

    @property
    def stale(self) -> bool:
        """Whether its job is not what it shall do."""
        shall = self.record.running and not self.removed and not self.restart
        return self.job is not None and (not shall or self.started != self.record)

    def metrics(self) -> list[Metrics]:
        """The numbers of its instances, as many as it has, over all restarts."""
        count = self.record.config.parallelism
        return [added(_at(self.before, number), _at(self.seen, number)) for number in range(count)]


class Supervisor:
    """All functions of this worker."""

    def __init__(
        self,
        jobs: Jobs,
        *,
        package: Callable[[FunctionMetaData], Awaitable[Path]],
        worker: str,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        """``package`` brings the file of a function. ``tasks`` look after functions."""
        self._jobs = jobs
        self._package = package
        self._worker = worker
        self._clock = clock
        self._tasks = tasks
        self._functions: dict[str, _Supervised] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}

    def put(self, record: FunctionMetaData) -> None:
        """A function is new, or has changed: it is started, stopped or started anew."""
        fqfn = record.config.fqfn
        held = self._functions.get(fqfn)
        if held is None:
            held = self._functions[fqfn] = _Supervised(record)
            held.snapshots.append((self._clock.now(), []))
            self._looking[fqfn] = self._tasks.spawn(fqfn, self._look_after(held))
        elif held.record == record and not held.removed:
            return
        held.record, held.removed = record, False
        self._change(held)

    def drop(self, fqfn: str) -> None:
        """End a function that is not, or no more, this worker's, and forget it then."""
        held = self._functions.get(fqfn)
        if held is not None:
            held.removed = True
            self._change(held)

    def restart(self, fqfn: str) -> None:
        """End its job, and start it again."""
        held = self._functions[fqfn]
        held.restart = True
        self._change(held)

    async def settle(self, fqfn: str) -> bool:
        """Return when nothing runs of how a function was; after a while also where it does."""
        held = self._functions.get(fqfn)
        if held is None:
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_S_MAX):
                await held.settled.wait()
        return held.settled.is_set()

    @staticmethod
    def _change(held: _Supervised) -> None:
        held.restarts.forgive()
        held.settled.clear()
        held.changed.set()

    async def close(self) -> None:
        """End every job, and what runs them. The functions go on at the next start."""
        await self._tasks.close()
        await asyncio.gather(*(self._end(held) for held in self._functions.values()))
        await asyncio.to_thread(self._jobs.close)

    def status(self, fqfn: str) -> dict[str, Any]:
        """Pulsar's FunctionStatus."""
        held = self._functions[fqfn]
        return function_status(
            [
                instance_status(
                    each,
                    running=held.job is not None and each.get("running", True),
                    error=held.error,
                    restarts=held.restarts.count,
                    worker=self._worker,
                )
                for each in held.metrics()
            ]
        )

    def stats(self, fqfn: str) -> dict[str, Any]:
        """Pulsar's FunctionStats."""
        held = self._functions[fqfn]
        return function_stats(held.metrics(), _minute(held))

    def metrics(self) -> list[dict[str, Any]]:
        """Pulsar's WorkerFunctionInstanceStats, of every instance."""
        return [
            {"name": f"{fqfn}:{number}", "metrics": instance_stats(each, minute)}
            for fqfn, held in self._functions.items()
            for number, (each, minute) in enumerate(zip(held.metrics(), _minute(held), strict=True))
        ]

    async def _look_after(self, held: _Supervised) -> None:
        while True:
            await self._keep_running(held)
            await self._end(held)
            if held.removed:  # It may have come back meanwhile.
                del self._functions[held.record.config.fqfn]
                del self._looking[held.record.config.fqfn]
                held.settled.set()
                return

    async def _keep_running(self, held: _Supervised) -> None:
        while not held.removed:
            held.changed.clear()
            if held.job is not None:
                await self._look_at(held)
            if held.stale:
                await self._end(held)
                held.error = ""
                held.restart = False
            if not held.changed.is_set():
                held.settled.set()
            if held.record.running and held.job is None and self._due(held):
                await self._start(held)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await held.changed.wait()

    def _due(self, held: _Supervised) -> bool:
        return self._clock.now() >= held.restarts.due

    async def _look_at(self, held: _Supervised) -> None:
        """See what it has done, and whether it has failed."""
        assert held.job is not None
        try:
            held.seen = list(await asyncio.to_thread(held.job.metrics))
            failure = await asyncio.to_thread(held.job.failure)
        except Exception as error:  # noqa: BLE001 - whatever is wrong there is its failure
            failure = _said(error)
        self._remember(held)
        if failure is not None:
            self._failed(held, failure)
            await self._end(held)

    async def _start(self, held: _Supervised) -> None:
        record = held.record
        held.restart = False  # This is one.
        try:
            package = await self._package(record)
            held.job = await asyncio.to_thread(self._jobs.start, record.config, package)
        except Exception as error:  # noqa: BLE001 - as above
            self._failed(held, _said(error))
            return
        held.started = record
        held.restarts.began(self._clock.now())
        held.error = ""
        log.info("function.started %s version=%d", record.config.fqfn, record.version)

    def _failed(self, held: _Supervised, failure: str) -> None:
        delay = held.restarts.failed(self._clock.now())
        fqfn, times = held.record.config.fqfn, held.restarts.in_a_row
        again = f"it is started again in {delay:g} s"
        held.error = f"{failure} (failed {times} times in a row; {again})" if times > 1 else failure
        log.warning("function.failed %s times=%d retry_s=%g %s", fqfn, times, delay, failure)

    async def _end(self, held: _Supervised) -> None:
        """Stop its job, and keep its numbers."""
        job, held.job = held.job, None
        if job is None:
            return
        try:
            await asyncio.to_thread(job.stop)
            held.seen = list(await asyncio.to_thread(job.metrics))
        except Exception as error:  # noqa: BLE001 - it is gone either way
            log.warning("function.stop_failed %s %s", held.record.config.fqfn, _said(error))
        count = max(len(held.before), len(held.seen))
        held.before = [added(_at(held.before, one), _at(held.seen, one)) for one in range(count)]
        held.seen = []

    def _remember(self, held: _Supervised) -> None:
        now = self._clock.now()
        kept = held.snapshots
        if now - kept[-1][0] >= SNAPSHOT_S:
            kept.append((now, held.metrics()))
        while len(kept) > 1 and now - kept[1][0] >= MINUTE_S:
            kept.popleft()


def _at(metrics: Sequence[Metrics], number: int) -> Metrics:
    return metrics[number] if number < len(metrics) else NOTHING


def _minute(held: _Supervised) -> list[Metrics]:
    """What each instance has done since the oldest snapshot, which is a minute old at most."""
    then = held.snapshots[0][1]
    return [since(_at(then, number), now) for number, now in enumerate(held.metrics())]


def _said(error: Exception) -> str:
    """An error in one line."""
    text = str(error).strip() or repr(error)
    first = text.splitlines()[0]
    return first if isinstance(error, MagnetarError) else f"{type(error).__name__}: {first}"
