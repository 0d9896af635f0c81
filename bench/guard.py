"""``make bench-guard``: CPU per entry against a committed figure; fails when it rose by 10 %.

    python -m bench.guard [--write]

What is judged is CPU per entry of the broker's process, as a ratio to raw work on the same machine
in the same run, before and after: a stretch of interpreted code, checksums and copies of the bytes;
and of that the median over some rounds. Cases are of small entries and without
fsync: how many entries go together must not hang on the disk's speed, and with large ones the
kernel's page faults are nearly all there is, which on a virtual machine vary by factors.
``--write`` makes today's figures the committed ones.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import click
from google_crc32c import value as crc32c

from . import machine
from .broker import Magnetar
from .cases import CONSUME, KIB, PUBLISH, TOPICS, Case
from .closed_loop import Throughput
from .frames import ring
from .measure import measure
from .table import table

COMMITTED = Path(__file__).parent / "results" / "guard.json"
RISE_MAX = 0.10
ROUNDS = 5
SECONDS = 1.5
CASES = [PUBLISH[0], PUBLISH[1], TOPICS[1], TOPICS[3], CONSUME[2]]
_TURNS = 100  # Of a plain loop: the interpreted part of the yardstick, per entry.
_CHUNK = 64 * KIB
_CHUNKS = 32
_LOOKS = 15


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


@click.command()
@click.option("--rounds", default=ROUNDS, show_default=True)
@click.option("--write", is_flag=True, help="Make these the committed figures.")
def main(*, rounds: int, write: bool) -> None:
    """Measure and compare."""
    click.echo(machine.interpreter())
    found = ratios(rounds)
    now = {case: median(each) for case, each in found.items()}
    before = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    bad = [] if write else risen(now, before)
    rows = [
        [
            case,
            f"{value:.2f}",
            f"{before[case]:.2f}" if case in before else "",
            f"{value / before[case] - 1:+.0%}" if case in before else "",
            f"{min(found[case]):.2f}-{max(found[case]):.2f}",
            "RISEN" if case in bad else "",
        ]
        for case, value in now.items()
    ]
    click.echo(
        table(
            ["CPU per entry / raw work", "now", "committed", "change", "rounds", ""],
            rows,
        )
    )
    if write:
        COMMITTED.parent.mkdir(exist_ok=True)
        COMMITTED.write_text(json.dumps({k: round(v, 3) for k, v in now.items()}, indent=2) + "\n")
    if bad:
        click.echo(f"over +{RISE_MAX:.0%}: {', '.join(bad)}. Run it again on a quieter machine,")
        click.echo("find what made it dearer, or say why it is worth it and run it with --write.")
        sys.exit(1)


if __name__ == "__main__":
    main()
