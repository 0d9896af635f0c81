"""How fast a store finds out what a crash left, beside reading the same files and their checksums.

    python -m bench.recovery [MIB]

Segments that a crash left unsealed are read from front to back; sealed ones say in their footer
what they hold. The bound, 2 GB/s, is for blocks of joined entries of 1 KiB; entries that were
appended alone cost something each. Files are in the page cache; best of several runs. One sync of
the last records, which a start adds unless ``durability`` is ``none``, is the disk's and left out.
"""

import asyncio
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import google_crc32c

from bench.machine import describe
from magnetar.storage.ledger.local.disk import RealFiles
from magnetar.storage.ledger.local.recovery import Recovered, recover
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.store import LedgerWriter

BOUND_GB_PER_S = 2.0
BOUND_HOLDS_FOR = (1024, 64)
CASES = ((1024, 1000), (1024, 64), (1024, 10), (1024, 1), (100, 1000), (100, 1), (65536, 16))
"""Bytes of an entry, and how many were appended at once."""

RUNS = 9
CHUNK = 1024 * 1024


def main() -> int:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 128) * CHUNK
    within = True
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        print("\n".join(describe(Path(place))))
        head = ("recovery", "read", "read + crc", "sealed")
        print(f"{'':24}{head[0]:>12}{head[1]:>12}{head[2]:>12}{head[3]:>10}")
        for case in CASES:
            crashed, sealed = asyncio.run(segment_folders(Path(place), *case, size))
            speed = best_speed(crashed, partial(recover_folder, crashed, size))
            raw = best_speed(crashed, partial(_read, crashed))
            checked = best_speed(crashed, partial(_read, crashed, google_crc32c.value))
            stopped = _best(partial(recover_folder, sealed, size)) * 1e3
            name = f"{case[0]} B, runs of {case[1]}"
            print(f"{name:24}{speed:7.2f} GB/s{raw:7.2f} GB/s{checked:7.2f} GB/s{stopped:7.1f} ms")
            if case == BOUND_HOLDS_FOR:
                within = speed >= BOUND_GB_PER_S
            shutil.rmtree(crashed)
            shutil.rmtree(sealed)
    print(f"{'within' if within else 'BEYOND'} {BOUND_GB_PER_S:g} GB/s (best run)")
    return 0 if within else 1


async def segment_folders(place: Path, entry: int, run: int, size: int) -> tuple[Path, Path]:
    """A store of one segment of ``size`` as a crash leaves it, and as a clean stop does."""
    settings = LocalLedgerSettings(segment_size=size, durability=Durability.NONE)
    sealed, crashed = place / "sealed", place / "crashed"
    store = await LocalLedgerStore.start(sealed, settings=settings)
    ledger = await store.create()
    data = [bytes([number % 251]) * entry for number in range(run)]
    checksums = [google_crc32c.value(each) for each in data]
    block = run * (entry + 8) + 64
    blocks = (size - 2 * CHUNK) // block  # They fit into one segment.
    at_once = max(1, CHUNK // block)
    for done in range(0, blocks, at_once):
        appends = (_append(ledger, data, checksums) for _ in range(min(at_once, blocks - done)))
        await asyncio.gather(*appends)
    shutil.copytree(sealed, crashed)
    await store.close()
    return crashed, sealed


async def _append(ledger: LedgerWriter, data: list[bytes], checksums: list[int]) -> None:
    landed = asyncio.Event()
    ledger.append(data, checksums, lambda *_: landed.set())
    await landed.wait()


def recover_folder(folder: Path, size: int) -> Recovered:
    settings = LocalLedgerSettings(
        segment_size=size, segments_spare_max=0, durability=Durability.NONE
    )
    found = recover(RealFiles(), folder, settings)
    assert found.ledgers, "the ledger is found"
    return found


def _read(folder: Path, look: Callable[[bytes], object] = len) -> None:
    for path in folder.glob("segment-*"):
        with path.open("rb", buffering=0) as file:
            while chunk := file.read(CHUNK):
                look(chunk)


def best_speed(folder: Path, work: Callable[[], object]) -> float:
    size = sum(path.stat().st_size for path in folder.glob("segment-*"))
    return size / _best(work) / 1e9


def _best(work: Callable[[], object]) -> float:
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


if __name__ == "__main__":
    sys.exit(main())
