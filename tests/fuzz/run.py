"""``make fuzz``: every target at length, with a table of what was found at the end.

    make fuzz                                  a million frames to the decoder and to a live broker
    make fuzz ARGS='--frames 20000 --seed 7'   less of it, and the same again
    make fuzz ARGS='--only live'

Findings are printed with what reproduces them; with any the exit code is 1.
"""

import asyncio
import logging
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random, SystemRandom

import click
import psutil
from fuzz import disks, records
from fuzz.decoding import Streams, check
from fuzz.hostile import ClientTally, torment
from fuzz.reading import Entries
from fuzz.siege import SETTINGS, besiege, defects
from fuzz.web import WebAttacker, WebTally
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from magnetar.testing.processes import BrokerProcess

FRAMES = 1_000_000
ENTRIES_SHARE = 5  # So many frames for each entry, and so on.
REQUESTS_SHARE = 20
RECORDS_SHARE = 20
FOLDERS_SHARE = 250
LIVES_SHARE = 500
AT_ONCE = 8  # Clients, and connections to the admin API.
FINDINGS_MAX = 20  # Of one target; then it stops.
MIB = 1024 * 1024


@dataclass(slots=True)
class Result:
    """What became of one target."""

    target: str
    count: int = 0
    what: str = "frames"
    seconds: float = 0.0
    rss_before: int = 0
    rss_after: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)
    notes: str = ""


Advance = Callable[[int], None]
Target = Callable[[Result, int, int, Advance], Awaitable[None]]


async def decoder(result: Result, frames: int, seed: int, advance: Advance) -> None:
    streams = Streams(seed)
    while result.count < frames and len(result.findings) < FINDINGS_MAX:
        data, count = streams.next()
        result.count += count
        try:
            result.kinds[check(data, streams.chance)] += 1
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            result.findings.append(f"{traceback.format_exc()}\nof {data.hex()}")
        advance(result.count)


async def live(result: Result, frames: int, seed: int, advance: Advance) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data", settings=SETTINGS) as broker,
    ):
        report = await besiege(broker, frames=frames, seed=seed, progress=advance)
    tally, seen = report.tally, report.seen
    result.count = tally.frames
    result.kinds = tally.answers + Counter({"hung up": tally.hung_up})
    result.findings = report.findings
    result.rss_before, result.rss_after = report.rss_before, report.rss_after
    result.notes = (
        f"{tally.conversations:,} connections; {tally.behind:,} more frames behind the one at "
        f"which the broker hung up; at most {report.rss_max // MIB} MiB; {report.fds_before} "
        f"files open before, {report.fds_after} after; the witness got {seen.messages:,} messages "
        f"through, the slowest in {seen.slowest_s * 1000:.0f} ms"
    )


async def entries(result: Result, frames: int, seed: int, advance: Advance) -> None:
    source = Entries(seed)
    result.what = "entries"
    while result.count < frames // ENTRIES_SHARE and len(result.findings) < FINDINGS_MAX:
        some = source.next()
        result.count += len(some)
        try:
            result.kinds[source.check(some)] += 1
        except Exception:  # noqa: BLE001 - whatever it is, it is a finding
            shown = " ".join(entry.hex() for entry in some)
            result.findings.append(f"{traceback.format_exc()}\nof {shown}")
        advance(result.count * ENTRIES_SHARE)


async def client(result: Result, frames: int, seed: int, advance: Advance) -> None:
    tally = ClientTally()
    lives = frames // LIVES_SHARE
    result.what = "frames to it"
    for first in range(0, lives, AT_ONCE):
        await asyncio.gather(*(torment(seed + first + one, tally) for one in range(AT_ONCE)))
        advance(first * LIVES_SHARE)
        if len(tally.findings) >= FINDINGS_MAX:
            break
    result.count, result.kinds, result.findings = tally.frames, tally.outcomes, tally.findings
    result.notes = f"{tally.spoiled:,} frames spoiled, in the lives of {lives:,} clients"


async def web(result: Result, frames: int, seed: int, advance: Advance) -> None:
    tally = WebTally()
    wanted = frames // REQUESTS_SHARE
    result.what = "requests"
    with (
        tempfile.TemporaryDirectory() as folder,
        BrokerProcess(Path(folder) / "data", settings=SETTINGS) as broker,
    ):
        process = psutil.Process(broker.pid)
        result.rss_before = process.memory_info().rss
        attackers = [WebAttacker(broker.web_port, seed + n, tally) for n in range(AT_ONCE)]
        work = asyncio.gather(*(attacker.attack(wanted) for attacker in attackers))
        while not work.done():
            await asyncio.wait([work], timeout=0.5)
            advance(tally.requests * REQUESTS_SHARE)
        await work
        result.rss_after = process.memory_info().rss
        result.findings = tally.findings + defects(broker)
    result.count, result.kinds = tally.requests, tally.statuses


async def segments(result: Result, frames: int, seed: int, advance: Advance) -> None:
    chance = Random(seed)
    result.what = "folders"
    with tempfile.TemporaryDirectory() as folder:
        found = await disks.corpus(Path(folder), chance)
        target = disks.Disks(found, Path(folder) / "now", chance)
        while result.count < frames // FOLDERS_SHARE and len(result.findings) < FINDINGS_MAX:
            await _noted(result, target.check, seed)
            advance(result.count * FOLDERS_SHARE)


async def metadata(result: Result, frames: int, seed: int, advance: Advance) -> None:
    target = records.Records(Random(seed))
    result.what = "records"
    await target.prepare()
    while result.count < frames // RECORDS_SHARE and len(result.findings) < FINDINGS_MAX:
        await _noted(result, target.check, seed)
        advance(result.count * RECORDS_SHARE)


async def _noted(result: Result, check_one: Callable[[], Awaitable[str]], seed: int) -> None:
    result.count += 1
    try:
        result.kinds[await check_one()] += 1
    except Exception:  # noqa: BLE001 - whatever it is, it is a finding
        result.findings.append(f"{traceback.format_exc()}\nno. {result.count} of seed {seed}")


TARGETS: dict[str, Target] = {
    "decoder": decoder,
    "live": live,
    "entries": entries,
    "client": client,
    "web": web,
    "segments": segments,
    "metadata": metadata,
}


@click.command()
@click.option("--frames", default=FRAMES, help="For the decoder and the live broker each.")
@click.option("--seed", type=int, help="Of an earlier run, to have it again.")
@click.option("--only", multiple=True, type=click.Choice(list(TARGETS)), help="This target alone.")
def main(frames: int, seed: int | None, only: tuple[str, ...]) -> None:
    """Throw random and mutated bytes at everything that reads some."""
    logging.basicConfig(level=logging.CRITICAL)
    seed = SystemRandom().randrange(1 << 32) if seed is None else seed
    console = Console()
    console.print(f"seed {seed}")
    results = asyncio.run(_run(only or tuple(TARGETS), frames, seed, console))
    console.print(_table(results))
    for result in results:
        if result.notes:
            console.print(f"{result.target}: {result.notes}")
    findings = [(result.target, text) for result in results for text in result.findings]
    for target, text in findings:
        console.print(f"\n{target}: {text}", markup=False, highlight=False, soft_wrap=True)
    sys.exit(1 if findings else 0)


async def _run(names: tuple[str, ...], frames: int, seed: int, console: Console) -> list[Result]:
    results = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as progress:
        for name in names:
            task = progress.add_task(name, total=frames)

            def advance(done: int, task=task) -> None:
                progress.update(task, completed=min(done, frames))

            rss = psutil.Process().memory_info().rss
            result = Result(name, rss_before=rss)
            began = time.monotonic()
            await TARGETS[name](result, frames, seed, advance)
            result.seconds = time.monotonic() - began
            result.rss_after = result.rss_after or psutil.Process().memory_info().rss
            advance(frames)
            results.append(result)
    return results


def _table(results: list[Result]) -> Table:
    table = Table("target", "sent", "seconds", "how they ended", "RSS MiB", "findings")
    for one in results:
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in one.kinds.most_common(9))
        table.add_row(
            one.target,
            f"{one.count:,} {one.what}",
            f"{one.seconds:.0f}",
            kinds,
            f"{one.rss_before // MIB} to {one.rss_after // MIB}",
            str(len(one.findings)),
        )
    return table


if __name__ == "__main__":
    main()
