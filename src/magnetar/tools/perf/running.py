"""Runs a load until it is done, its time is up or it is stopped, and prints how it stands."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import click

from magnetar.clock import SystemClock
from magnetar.errors import MagnetarError
from magnetar.tasks import Tasks
from magnetar.tools.process import event_loop_factory, stop_on_signals

from .statistics import Interval, LoadStatistics, check_histograms, summary


@dataclass(frozen=True, slots=True)
class Run:
    """How long a load lasts, and what is said of it."""

    messages_max: int  # 0: no end.
    duration_s: float  # 0: no end.
    interval_s: float
    warm_up_s: float
    histogram_file: Path | None
    line: Callable[[Interval, int, float], str]
    done: str  # What became of messages: sent, or received.


class Load:
    """What the workers of a load share."""

    def __init__(self, run: Run, clock: SystemClock) -> None:
        now = clock.now()
        self.clock = clock
        self.run = run
        self.statistics = LoadStatistics(now, warm_at=now + run.warm_up_s)
        self.stop = asyncio.Event()
        self._left: int | None = run.messages_max or None

    @property
    def over(self) -> bool:
        return self.stop.is_set()

    def take(self, count: int) -> int:
        """How many of ``count`` messages may be counted; the load is over behind the last one."""
        if self._left is None:
            return count
        taken = min(count, self._left)
        self._left -= taken
        if not self._left:
            self.stop.set()
        return taken

    @property
    def left(self) -> int | None:
        return self._left


Worker = Callable[[Load], Awaitable[None]]
Opening = Callable[[AsyncExitStack], Awaitable[Sequence[Worker]]]


def run_load(run: Run, opening: Opening) -> None:
    """Open the workers, run them, and print the summary. Raises MagnetarError."""
    check_histograms()
    with asyncio.Runner(loop_factory=event_loop_factory()) as runner:
        runner.run(_run(run, opening))


async def _run(run: Run, opening: Opening) -> None:
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        workers = await opening(stack)
        log = _histogram_log(stack, run.histogram_file)
        load = Load(run, clock)
        stop_on_signals(load.stop)
        tasks = Tasks("perf")
        stack.push_async_callback(tasks.close)
        running = [tasks.start("worker", _work(worker, load)) for worker in workers]
        stopped = tasks.start("stop", load.stop.wait())
        try:
            await _report(load, [*running], stopped, log)
        finally:
            load.stop.set()
            for result in await asyncio.gather(*running, return_exceptions=True):
                if isinstance(result, BaseException):
                    raise result
        now = clock.now()
        load.statistics.next_interval(now)
        for line in summary(load.statistics.total, run.done, now):
            click.echo(line)


async def _work(worker: Worker, load: Load) -> None:
    try:
        await worker(load)
    except MagnetarError:
        load.stop.set()
        raise


async def _report(
    load: Load, running: list["asyncio.Task[None]"], stopped: "asyncio.Task[Any]", log: Any
) -> None:
    """Print a line at each interval, until the load is over."""
    run, clock = load.run, load.clock
    began = clock.now()
    end = began + run.duration_s if run.duration_s else None
    due = began + run.interval_s
    while not load.over:
        until = due if end is None else min(due, end)
        await asyncio.wait(
            [stopped, *running],
            timeout=max(until - clock.now(), 0),
            return_when=asyncio.FIRST_COMPLETED,
        )
        now = clock.now()
        if end is not None and now >= end:
            load.stop.set()
        if now >= due:
            due += run.interval_s
            since = load.statistics.interval.since
            interval = load.statistics.next_interval(now)
            click.echo(run.line(interval, load.statistics.total.messages, now))
            if log is not None:
                log.output_interval_histogram(interval.latency, since, now)
        if all(task.done() for task in running):
            load.stop.set()


def _histogram_log(stack: AsyncExitStack, path: Path | None) -> Any:
    if path is None:
        return None
    from hdrh.log import HistogramLogWriter  # noqa: PLC0415 - it is checked for before

    file: TextIO = stack.enter_context(path.open("w", encoding="utf-8"))
    writer: Any = HistogramLogWriter(file)
    writer.output_log_format_version()
    writer.output_legend()
    return writer


def names_of(topic: str, count: int) -> list[str]:
    """The topics under load as pulsar-perf names them: of one with its number that is the first."""
    if count == 1:
        return [topic]
    return [f"{re.sub(r'-$', '', topic)}-{index}" for index in range(count)]
