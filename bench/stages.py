"""How long an entry waits for each stage of the broker, on its way from the socket and back.

    python -m bench.stages [--seconds 2] [--durability fsync] [--case TEXT]...

A table for each case, in milliseconds, and what the log's thread and the processor did meanwhile.
The broker is one that notes times (``stage_clock.py``), which costs it a tenth of its speed; what
an entry waits in the socket before it is received is not seen.
"""

import json
import os
import tempfile
from bisect import bisect_left
from collections.abc import Iterable
from itertools import accumulate
from pathlib import Path
from typing import Any

import click

from . import cases
from .broker import Magnetar
from .cases import KIB, Case
from .measure import measure
from .stage_clock import NOTES_TO, STAGES

CASES = [
    Case("1 topic x 1,000 in flight, 100 B"),
    Case("1 topic x 1,000 in flight, 1 KiB", size=KIB),
    Case("1 topic x 200 in flight, 64 KiB", size=64 * KIB, in_flight=200),
    Case("100 topics x 20 in flight, 1 KiB", size=KIB, connections=100, topics=100, in_flight=20),
    Case("1,000/s, 1 KiB", size=KIB, rate=1000),
]
PERCENTILES = (50, 90, 99)


@click.command()
@click.option("--seconds", default=2.0, show_default=True, help="Each case is measured so long.")
@click.option("--durability", default="fsync", show_default=True)
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
def main(*, seconds: float, durability: str, names: tuple[str, ...]) -> None:
    """How long an entry waits for each stage."""
    for case in cases.named(list(names), CASES):
        notes = observed(case.lasting(seconds), durability)
        click.echo(f"\n{case.name}, {durability}\n")
        click.echo(table(notes["runs"], case.warm_up_s))
        click.echo(work(notes, case.warm_up_s))


def observed(case: Case, durability: str) -> dict[str, Any]:
    """Run a case on a broker of its own. Returns what the broker noted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stages.json")
        os.environ[NOTES_TO] = str(path)
        with Magnetar(Path(folder), durability, module="bench.stage_clock") as broker:
            measure(broker, case)
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found


def table(runs: list[list[float]], warm_up_s: float) -> str:
    """What an entry waited for each stage since the one before, and for all of them."""
    complete = [run for run in runs if len(run) == len(STAGES) + 1]
    begin = min(run[1] for run in complete) + warm_up_s
    counted = [run for run in complete if run[1] >= begin]
    rows = [f"{'wait, ms':28}" + "".join(f"{f'p{p}':>9}" for p in PERCENTILES)]
    for number, stage in enumerate(STAGES[1:], start=2):
        rows.append(_row(stage, ((run[number] - run[number - 1], run[0]) for run in counted)))
    rows.append(_row("in all", ((run[-1] - run[1], run[0]) for run in counted)))
    return "\n".join(rows)


def work(notes: dict[str, Any], warm_up_s: float) -> str:
    """What the log's thread and the processor did, as shares of the time."""
    runs, groups, cpu = notes["runs"], notes["groups"], notes["cpu"]
    begin, end = runs[0][1] + warm_up_s, runs[-1][1]
    span = end - begin
    counted = [group for group in groups if begin <= group[0] <= end]
    entries = sum(run[0] for run in runs if begin <= run[1] <= end)
    writing = sum(written - taken for taken, written, _ in counted) / span
    syncing = sum(synced - written for _, written, synced in counted) / span
    first, last = (
        cpu[min(bisect_left(cpu, at, key=lambda mark: mark[0]), len(cpu) - 1)]
        for at in (begin, end)
    )
    process, loop = ((last[each] - first[each]) / (last[0] - first[0]) for each in (1, 2))
    return (
        f"{entries / span:,.0f} entries/s in {len(counted) / span:,.0f} groups/s of "
        f"{entries / max(len(counted), 1):,.0f}\n"
        f"the log's thread: writes {writing:.0%}, syncs {syncing:.0%}, waits "
        f"{1 - writing - syncing:.0%}; CPU of a core: {process:.0%}, of which the loop {loop:.0%}"
    )


def _row(name: str, waits: Iterable[tuple[float, float]]) -> str:
    """Each wait counts as often as the run has entries."""
    ordered = sorted(waits)
    counts = list(accumulate(count for _, count in ordered))
    at = (bisect_left(counts, counts[-1] * p / 100) for p in PERCENTILES)
    return f"{name:28}" + "".join(f"{ordered[each][0] * 1e3:9.3f}" for each in at)


if __name__ == "__main__":
    main()
