"""A broker process under attack: attackers, a witness, and what the process needs meanwhile."""

import asyncio
import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import psutil
import pulsar
from fuzz.commands import TOPICS
from fuzz.live import Attacker, Tally
from fuzz.witness import Testimony, Witness
from support.elsewhere import until_elsewhere

from magnetar.testing.processes import BrokerProcess

ATTACKERS = 8
SETTINGS = {"durability": "none"}  # The disk has its own tests.
RSS_GROWTH_MAX = 256 * 1024 * 1024
"""Bytes of memory that the attack may cost: the cache (64 MiB), what waits for slow clients, topics
and subscriptions with made-up names."""
ROUND_TRIP_MAX_S = 5.0
"""Nobody blocks the event loop for longer, on a machine that others use too."""
SAMPLE_INTERVAL_S = 0.25
SETTLE_TIMEOUT_S = 20.0
DEFECT = re.compile(r"\S+ \S+ (?:ERROR|CRITICAL) ").match  # Date, time, level.
LINES_SHOWN_MAX = 40


@dataclass(slots=True)
class Report:
    """How it went. No findings: all is well."""

    tally: Tally
    seen: Testimony
    seconds: float
    rss_before: int
    rss_max: int
    rss_after: int
    fds_before: int
    fds_after: int
    findings: list[str] = field(default_factory=list)


async def besiege(
    broker: BrokerProcess,
    *,
    frames: int,
    seed: int,
    progress: Callable[[int], None] = lambda _: None,
) -> Report:
    """Have ``frames`` frames read by a running broker, and look at what became of it."""
    process = psutil.Process(broker.pid)
    tally = Tally()
    witness = Witness(broker.service_url)
    try:
        witness.start()
        rss_before, fds_before = process.memory_info().rss, process.num_fds()
        began = time.monotonic()
        attackers = [Attacker(broker.port, seed + number, tally) for number in range(ATTACKERS)]
        work = asyncio.gather(*(attacker.attack(frames) for attacker in attackers))
        rss_max = await _watched(work, process, tally, progress)
        seconds = time.monotonic() - began
        fds_after = await _settled_fds(process, fds_before)
    finally:
        seen = await asyncio.to_thread(witness.end)
    report = Report(
        tally=tally,
        seen=seen,
        seconds=seconds,
        rss_before=rss_before,
        rss_max=rss_max,
        rss_after=process.memory_info().rss,
        fds_before=fds_before,
        fds_after=fds_after,
    )
    report.findings = [*_findings(report), *defects(broker)]
    report.findings += await asyncio.to_thread(_still_usable, broker.service_url)
    return report


async def _watched(
    work: asyncio.Future[list[None]],
    process: psutil.Process,
    tally: Tally,
    progress: Callable[[int], None],
) -> int:
    """Wait for the attackers. Returns the most memory that was seen."""
    rss_max = 0
    while not work.done():
        await asyncio.wait([work], timeout=SAMPLE_INTERVAL_S)
        rss_max = max(rss_max, process.memory_info().rss)
        progress(tally.frames)
    try:
        await work
    except OSError as error:
        tally.findings.append(f"a connection was refused: {error!r}")
    return rss_max


async def _settled_fds(process: psutil.Process, expected: int) -> int:
    """Open files, once the broker has noticed that the attackers are gone."""
    with suppress(AssertionError):
        await until_elsewhere(
            lambda: process.num_fds() <= expected,
            "another process tells nobody when it closes a file",
            timeout_s=SETTLE_TIMEOUT_S,
        )
    return process.num_fds()


def _findings(report: Report) -> list[str]:
    found = report.tally.findings + report.seen.complaints
    if not report.seen.messages:
        found.append("the witness got nothing through")
    if report.seen.slowest_s > ROUND_TRIP_MAX_S:
        found.append(f"the witness waited {report.seen.slowest_s:.1f} s for a message")
    if report.rss_max - report.rss_before > RSS_GROWTH_MAX:
        found.append(f"memory grew from {report.rss_before:,} to {report.rss_max:,} bytes")
    if report.fds_after > report.fds_before:
        found.append(f"{report.fds_after} files are open, {report.fds_before} were")
    return found


def defects(broker: BrokerProcess) -> list[str]:
    """Lines of the broker's log that should not be there, each with its traceback."""
    found: list[list[str]] = []
    wanted = False
    for line in broker.log_file.read_text(errors="replace").splitlines():
        if line.startswith("20"):  # With its time; what follows without belongs to it.
            wanted = DEFECT(line) is not None
            if wanted:
                found.append([])
        if wanted and len(found[-1]) < LINES_SHOWN_MAX:
            found[-1].append(line)
    return ["\n".join(lines) for lines in found]


def _still_usable(service_url: str) -> list[str]:
    """The topics that were attacked take and deliver a message all the same."""
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.Client(service_url, logger=quiet)
    found = []
    for topic in TOPICS:
        try:
            consumer = client.subscribe(topic, "afterwards")
            producer = client.create_producer(topic)
            producer.send(b"afterwards")
            if consumer.receive(10_000).data() != b"afterwards":
                found.append(f"{topic}: something else was delivered")
        except pulsar.PulsarException as error:
            found.append(f"{topic} is of no use any more: {error!r}")
    client.close()
    return found
