"""Functions are kept running: failures, changes and ends, on a clock of the test."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from support.loop import until

from magnetar.clock import SystemClock
from magnetar.errors import NotReady
from magnetar.functions.config import FunctionConfig
from magnetar.functions.worker import supervisor as supervisor_module
from magnetar.functions.worker.metadata import FunctionMetaData
from magnetar.functions.worker.status import NOTHING
from magnetar.functions.worker.supervisor import Supervisor
from magnetar.tasks import Tasks

RECORD = FunctionMetaData(FunctionConfig.parse({"className": "f", "inputs": ["a"]}), "package")
FQFN = RECORD.config.fqfn


class Clock(SystemClock):
    """The time of the test."""

    def __init__(self) -> None:
        self.at = 100.0

    def now(self) -> float:
        return self.at


class MemoryJob:
    """A function that does nothing, until it is told to fail."""

    def __init__(self, config: FunctionConfig) -> None:
        self.config = config
        self.failed: str | None = None
        self.stopped = False
        self.received = 0

    def failure(self):
        return self.failed

    def metrics(self):
        return [{**NOTHING, "numReceived": self.received}] * self.config.parallelism

    def stop(self):
        self.stopped = True


class MemoryJobs:
    """Satisfies the contract ``Jobs``."""

    def __init__(self) -> None:
        self.jobs: list[MemoryJob] = []
        self.refusal: Exception | None = None
        self.tried = 0
        self.closed = False

    def start(self, config: FunctionConfig, package: Path) -> MemoryJob:
        assert package == Path("package")
        self.tried += 1
        if self.refusal is not None:
            raise self.refusal
        self.jobs.append(MemoryJob(config))
        return self.jobs[-1]

    def close(self) -> None:
        self.closed = True


class World:
    def __init__(self) -> None:
        self.jobs, self.clock = MemoryJobs(), Clock()
        self.supervisor = Supervisor(
            self.jobs, package=self._package, worker="w", clock=self.clock, tasks=Tasks("test")
        )

    async def _package(self, record: FunctionMetaData) -> Path:
        return Path(record.package)

    @property
    def status(self) -> dict:
        return self.supervisor.status(FQFN)["instances"][0]["status"]

    async def running(self) -> MemoryJob:
        await until(lambda: self.status["running"])
        return self.jobs.jobs[-1]


@pytest.fixture
async def world():
    made = World()
    yield made
    await made.supervisor.close()
    assert made.jobs.closed


async def test_a_function_is_started_and_shown(world):
    world.supervisor.put(replace(RECORD, config=replace(RECORD.config, parallelism=2)))
    job = await world.running()
    job.received = 5
    await until(lambda: world.status["numReceived"] == 5)
    assert world.supervisor.status(FQFN)["numRunning"] == 2
    assert world.supervisor.stats(FQFN)["1min"]["receivedTotal"] == 10
    assert [each["name"] for each in world.supervisor.metrics()] == [f"{FQFN}:0", f"{FQFN}:1"]


async def test_one_that_fails_waits_longer_each_time(world):
    world.supervisor.put(RECORD)
    job = await world.running()
    job.received = 3
    job.failed = "it is broken"
    world.jobs.refusal = NotReady("no broker")
    await until(lambda: not world.status["running"])
    assert (world.status["error"], world.status["numRestarts"]) == ("it is broken", 1)
    await until(lambda: job.stopped)
    world.clock.at += 1.0
    await until(lambda: world.status["numRestarts"] == 2)
    assert world.status["error"].startswith("no broker (failed 2 times in a row; it is started")
    world.jobs.refusal = None
    world.clock.at += 1.0
    await asyncio.sleep(0)
    assert not world.status["running"], "it is due two seconds after its second failure"
    world.clock.at += 1.0
    await world.running()
    assert world.status["numReceived"] == 3, "what it did before counts"
    assert world.status["error"] == ""


async def test_a_change_ends_the_old_one_and_starts_the_new(world):
    world.supervisor.put(RECORD)
    job = await world.running()
    world.supervisor.put(RECORD.changed(config=replace(RECORD.config, output="o")))
    await until(lambda: len(world.jobs.jobs) == 2)
    assert job.stopped
    assert world.jobs.jobs[1].config.output == "o"


async def test_a_change_is_not_kept_waiting_by_failures(world):
    world.jobs.refusal = ValueError("no such thing")
    world.supervisor.put(RECORD)
    await until(lambda: world.status["numRestarts"] == 1)
    assert world.status["error"] == "ValueError: no such thing"
    world.jobs.refusal = None
    world.supervisor.put(RECORD.changed())
    await world.running()


async def test_stopped_restarted_and_removed(world):
    world.supervisor.put(RECORD)
    first = await world.running()
    world.supervisor.restart(FQFN)
    await until(lambda: len(world.jobs.jobs) == 2)
    second = await world.running()
    assert first.stopped
    world.supervisor.put(RECORD.changed(running=False))
    await until(lambda: second.stopped)
    assert not world.status["running"]
    world.supervisor.put(RECORD.changed(running=True))
    third = await world.running()
    world.supervisor.drop(FQFN)
    assert await world.supervisor.settle(FQFN)
    assert third.stopped
    assert world.supervisor.metrics() == []
    world.supervisor.drop(FQFN)  # Twice does no harm.
    assert await world.supervisor.settle(FQFN)


async def test_one_that_comes_back_while_it_is_dropped_runs(world):
    world.supervisor.put(RECORD)
    first = await world.running()
    world.supervisor.drop(FQFN)
    world.supervisor.put(RECORD.changed())
    await until(lambda: len(world.jobs.jobs) == 2)
    await world.running()
    assert first.stopped


async def test_a_restart_of_one_that_does_not_run_starts_it_once(world):
    world.jobs.refusal = NotReady("no broker")
    world.supervisor.put(RECORD)
    await until(lambda: world.status["numRestarts"] == 1)
    world.jobs.refusal = None
    world.supervisor.restart(FQFN)
    job = await world.running()
    world.supervisor.put(RECORD)  # Nothing new; but it looks again.
    await world.supervisor.settle(FQFN)
    assert not job.stopped
    assert world.jobs.jobs == [job]


async def test_who_waits_for_a_change_is_told_of_the_end(world):
    world.supervisor.put(RECORD)
    await world.running()
    world.supervisor.put(RECORD.changed())
    async with asyncio.timeout(5):
        waiting = asyncio.create_task(world.supervisor.settle(FQFN))
        world.supervisor.drop(FQFN)
        assert await waiting


async def test_one_that_cannot_be_asked_has_failed(world):
    world.supervisor.put(RECORD)
    job = await world.running()

    def gone():
        raise ConnectionError("Java is gone\nand more")

    job.metrics = gone
    await until(lambda: world.status["numRestarts"] == 1)
    assert world.status["error"] == "ConnectionError: Java is gone"


async def test_a_request_waits_only_so_long_for_a_function_that_does_not_stop(world, monkeypatch):
    monkeypatch.setattr(supervisor_module, "SETTLE_S_MAX", 0.0)
    world.supervisor.put(RECORD)
    job = await world.running()
    may_stop = threading.Event()
    job.stop = may_stop.wait
    try:
        world.supervisor.put(RECORD.changed(running=False))
        await world.supervisor.settle(FQFN)  # Returns, though nothing has stopped yet.
    finally:
        may_stop.set()


async def test_the_end_of_the_worker_ends_every_job():
    world = World()
    world.supervisor.put(RECORD)
    job = await world.running()
    await world.supervisor.close()
    assert job.stopped
