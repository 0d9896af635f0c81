"""``make bench-guard``: what an entry costs against committed figures; fails when it rose by 10 %.

    python -m bench.guard [--write]

Two things are looked at. *Instructions* of the interpreter for each entry (``bench/work.py``) are
counted: the same on every machine and however busy it is, so they are always judged; but versions
of Python differ in their bytecode, so figures of another one are shown and not judged.

*CPU* per entry of the broker's process is timed, as a ratio to raw work on the same machine in the
same run, before and after: a stretch of interpreted code, checksums and copies of the bytes; and of
that the median over some rounds. It sees what is done in C and in the kernel as well. Where the
machine has other work it says little: with both cores taken, the same broker's medians differed by
15 to 40 %. So it is judged on a quiet machine only, and the report says when it was not.

Cases are of small entries and without fsync: how many entries go together must not hang on the
disk's speed, and with large ones the kernel's page faults are nearly all there is, which on a
virtual machine vary by factors. ``--write`` makes today's figures the committed ones of this build
of the inner loops, compiled or plain; each is compared with its own.
"""

import json
import os
import platform
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import click
from google_crc32c import value as crc32c

from magnetar import inner

from . import machine, work
from .broker import Magnetar
from .cases import KIB, Case, named
from .closed_loop import Throughput
from .frames import ring
from .measure import measure
from .table import table

COMMITTED = Path(__file__).parent / "results" / "guard.json"
RISE_MAX = 0.10
LOAD_MAX = 1.0
"""A machine with a higher load average than this, before anything of ours runs, is not quiet."""

ROUNDS = 7
SECONDS = 1.0
CASES = [
    named([name])[0]
    for name in (
        "publish 100 B",
        "publish 1 KiB",
        "100 topics, 1000 in flight",
        "100 topics x 20 in flight, 100 B",
        "fan-out 10, 1 KiB",
    )
]
_TURNS = 100  # Of a plain loop: the interpreted part of the yardstick, per entry.
_CHUNK = 64 * KIB
_CHUNKS = 32
_LOOKS = 15


@dataclass(slots=True)
class Figures:
    """What an entry costs, by case; and the Python that the instructions were counted under."""

    python: str = field(default_factory=lambda: ".".join(platform.python_version_tuple()[:2]))
    instructions: dict[str, float] = field(default_factory=dict)
    cpu: dict[str, float] = field(default_factory=dict)


class Yardstick:
    """What raw work costs at the moment, in microseconds of CPU: the median of some looks."""

    def __init__(self) -> None:
        self.turns_us = median(_turns_us() for _ in range(_LOOKS))
        self.kib_us = median(_kib_us() for _ in range(_LOOKS))

    def of(self, case: Case) -> float:
        """The raw work for one entry of a case."""
        return self.turns_us + ring(case).frame_size / KIB * self.kib_us


def _turns_us() -> float:
    repeats = 50
    started = time.process_time()
    for _ in range(repeats):
        total = 0
        for number in range(_TURNS):
            total += number & 7
    return (time.process_time() - started) / repeats * 1e6


def _kib_us() -> float:
    """A KiB checked and copied twice."""
    chunk = bytes(range(256)) * (_CHUNK // 256)
    started = time.process_time()
    for _ in range(_CHUNKS):
        crc32c(chunk)
        bytes(bytearray(chunk))
    return (time.process_time() - started) / (_CHUNKS * _CHUNK / KIB) * 1e6


def ratios(rounds: int) -> dict[str, list[float]]:
    """CPU per entry over the yardstick's around it, round by round, by case."""
    found: dict[str, list[float]] = {case.name: [] for case in CASES}
    with tempfile.TemporaryDirectory() as name, Magnetar(Path(name), "none") as broker:
        for _ in range(rounds):
            for case in CASES:
                before = Yardstick().of(case)
                result = measure(broker, case.lasting(SECONDS))
                assert isinstance(result, Throughput)
                raw = (before + Yardstick().of(case)) / 2
                found[case.name].append(result.broker_cpu_us / raw)
    return found


def risen(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """The cases that cost more than they may."""
    return [
        case
        for case, value in now.items()
        if case in before and value > before[case] * (1 + RISE_MAX)
    ]


def committed(build: str = inner.BUILD) -> Figures:
    """What was written last with this build of the inner loops."""
    found = json.loads(COMMITTED.read_text(encoding="utf-8"))
    return Figures(**found[build]) if build in found else Figures()


def _shown(head: str, now: dict[str, float], before: dict[str, float], *, judged: bool) -> str:
    bad = risen(now, before) if judged else []
    rows = [
        [
            case,
            f"{value:.2f}",
            f"{before[case]:.2f}" if case in before else "",
            f"{value / before[case] - 1:+.0%}" if case in before else "",
            "RISEN" if case in bad else "",
        ]
        for case, value in now.items()
    ]
    return table([head, "now", "committed", "change", ""], rows)


@click.command()
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--write", is_flag=True, help="Make these the committed figures.")
def main(*, rounds: int, write: bool) -> None:
    """Measure and compare."""
    load = os.getloadavg()[0]
    click.echo(f"{machine.interpreter()}; inner loops {inner.BUILD}")
    now, before = Figures(instructions=work.count()), committed()
    comparable = not write and now.python == before.python
    head = "instructions per entry"
    click.echo(_shown(head, now.instructions, before.instructions, judged=comparable) + "\n")
    if not comparable and not write:
        click.echo(f"Committed under Python {before.python}: not judged under {now.python}.\n")
    spreads = ratios(rounds)
    now.cpu = {case: median(each) for case, each in spreads.items()}
    quiet = not write and load <= LOAD_MAX
    click.echo(_shown("CPU per entry / raw work", now.cpu, before.cpu, judged=quiet))
    if not quiet and not write:
        click.echo(f"The load average was {load:.1f} before: CPU is shown, not judged.")
    if write:
        _write(now)
        return
    bad = risen(now.instructions, before.instructions) if comparable else []
    bad += risen(now.cpu, before.cpu) if quiet else []
    if bad:
        click.echo(f"\nover +{RISE_MAX:.0%}: {', '.join(bad)}. Find what made it dearer, or say")
        click.echo("why it is worth it and run this with --write, on a quiet machine.")
        sys.exit(1)


def _write(figures: Figures) -> None:
    found = asdict(figures)
    for kind in ("instructions", "cpu"):
        found[kind] = {case: round(value, 3) for case, value in found[kind].items()}
    kept = json.loads(COMMITTED.read_text(encoding="utf-8"))
    kept[inner.BUILD] = found
    COMMITTED.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
