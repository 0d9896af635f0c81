"""``make bench-guard``: CPU per entry against a committed figure; fails when it rose by 10 %.

    python -m bench.guard [--write]

CPU per entry is steadier than entries a second, and its ratio to what the same machine takes for
the raw work (a stretch of interpreted code, and moving the bytes through a socket, a checksum and
into a file) steadier still, also across machines. Without fsync, so that the disk's speed does not
decide how many entries go together. The best of some interleaved rounds counts: neighbours only
ever add. ``--write`` makes today's figures the committed ones.
"""

import json
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

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
ROUNDS = 3
SECONDS = 2.0
CASES = [*PUBLISH[:4], TOPICS[3], TOPICS[4], CONSUME[0], CONSUME[2]]
_TURNS = 100  # Of a plain loop: the interpreted part of the yardstick, per entry.
_BYTES = 8 * 1024 * 1024
_CHUNK = 64 * KIB


class Yardstick:
    """What raw work costs here and now, in microseconds of CPU."""

    def __init__(self, folder: Path) -> None:
        self.turns_us = min(_turns_us() for _ in range(20))
        self.kib_us = min(_kib_us(folder) for _ in range(3))

    def of(self, case: Case) -> float:
        """The raw work for one entry of a case, and for each of its deliveries."""
        return self.turns_us + ring(case).frame_size / KIB * self.kib_us * (1 + case.consumers)


def _turns_us() -> float:
    repeats = 200
    started = time.process_time()
    for _ in range(repeats):
        total = 0
        for number in range(_TURNS):
            total += number & 7
    return (time.process_time() - started) / repeats * 1e6


def _kib_us(folder: Path) -> float:
    """A KiB through a socket, a checksum and into a file."""
    chunk = bytes(range(256)) * (_CHUNK // 256)
    near, far = socket.socketpair()
    path = folder / "yardstick.tmp"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        started = time.process_time()
        for _ in range(_BYTES // _CHUNK):
            near.sendall(chunk)
            taken = 0
            while taken < _CHUNK:
                data = far.recv(_CHUNK)
                taken += len(data)
                crc32c(data)
                os.write(descriptor, data)
        return (time.process_time() - started) / (_BYTES / KIB) * 1e6
    finally:
        os.close(descriptor)
        path.unlink()
        near.close()
        far.close()


def ratios(rounds: int) -> dict[str, float]:
    """CPU per entry over the yardstick's, the least of some rounds, by case."""
    found: dict[str, list[float]] = {}
    with (
        tempfile.TemporaryDirectory() as name,
        Magnetar(Path(name) / "data", "none") as broker,
    ):
        for _ in range(rounds):
            for case in CASES:
                yardstick = Yardstick(Path(name))
                result = measure(broker, case.lasting(SECONDS))
                assert isinstance(result, Throughput)
                found.setdefault(case.name, []).append(result.broker_cpu_us / yardstick.of(case))
    return {case: min(each) for case, each in found.items()}


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
    now = ratios(rounds)
    before = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    bad = [] if write else risen(now, before)
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
    click.echo(table(["CPU per entry / raw work", "now", "committed", "change", ""], rows))
    if write:
        COMMITTED.parent.mkdir(exist_ok=True)
        COMMITTED.write_text(json.dumps({k: round(v, 3) for k, v in now.items()}, indent=2) + "\n")
    if bad:
        click.echo(f"over +{RISE_MAX:.0%}: {', '.join(bad)}. Run it again on a quieter machine,")
        click.echo("find what made it dearer, or say why it is worth it and run it with --write.")
        sys.exit(1)


if __name__ == "__main__":
    main()
