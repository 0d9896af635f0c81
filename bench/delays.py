"""What millions of delayed messages cost a subscription in memory, and what a restart costs then.

    python -m bench.delays [--entries N] [--days D]

Entries of a log that is not there are held back by the broker's own index, over its own stores on
disk: N of them (ten million), due within D days in any order. Then another process opens the same
cursor, as a restart does, and takes the first hundredth that is due. Every figure is of a whole
process, with all that a broker loads. The bound is 200 MB.
"""

import argparse
import asyncio
import multiprocessing
import random
import sys
import tempfile
import time
from pathlib import Path

import psutil

import magnetar.broker.assemble.broker  # noqa: F401 - a broker's memory is part of the figure
from bench.machine import describe
from magnetar.broker.dispatch.delayed import RECENT_MAX
from magnetar.broker.topics.subscriptions.delayed_delivery import DelayedDelivery
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.policy_values import DelayedDeliveryPolicies
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.storage.metadata.sqlite import SqliteMetadataStore
from magnetar.tasks import Tasks

ENTRIES = 10_000_000
DAYS = 1.0
MEMORY_MB_MAX = 200
RUN = 1_000
LEDGER_ENTRIES = 50_000
FIRST_LEDGER_ID = 1_000_000  # Of the log that is not there.
TAKEN_PART = 100
POLICY = DelayedDeliveryPolicies(1000, active=True)


class MovedClock:
    """The machine's clock, some time ahead."""

    def __init__(self, ahead_s: float = 0.0) -> None:
        self.ahead_s = ahead_s

    now = staticmethod(time.monotonic)

    def wall_ms(self) -> int:
        return round((time.time() + self.ahead_s) * 1000)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Log:
    """The stores of a broker in a folder, and a cursor that reads far behind all entries."""

    def __init__(self, folder: Path, clock: MovedClock) -> None:
        self._folder = folder
        self._clock = clock
        self._tasks = Tasks("bench")
        self._woken = asyncio.Event()

    async def __aenter__(self) -> DelayedDelivery:
        self._ledgers = await LocalLedgerStore.start(self._folder / "log")
        self._metadata = await SqliteMetadataStore.open(self._folder / "metadata.sqlite")
        factory = ManagedLedgerFactory(
            codec=JsonCodec(),
            metadata=self._metadata,
            ledgers=self._ledgers,
            cache=EntryCache(0),
            clock=self._clock,
            tasks=self._tasks,
        )
        self._log = await factory.open("bench")
        cursor: Cursor = await self._log.open_cursor("delayed", EARLIEST)
        cursor.reader.read_position = Position(2**40, 0)
        self.delayed = DelayedDelivery(cursor, strict=False, tasks=self._tasks, clock=self._clock)
        self.delayed.apply(POLICY)
        self.delayed.serve(self._woken.set)
        await self.rest()
        return self.delayed

    async def __aexit__(self, *_: object) -> None:
        self.delayed.close()
        await self._log.close()
        await self._tasks.close()
        await self._metadata.close()
        await self._ledgers.close()

    async def rest(self) -> None:
        """Return when nothing is being stored or loaded."""
        while self.delayed.busy:
            self._woken.clear()
            await self._woken.wait()


async def fill(folder: Path, entries: int, days: float) -> None:
    """Hold ``entries`` back, due in an hour or later."""
    clock, chance = MovedClock(), random.Random(7)
    log = Log(folder, clock)
    first_ms, span_ms = clock.wall_ms() + 3_600_000, round(days * 86_400_000)
    async with log as delayed:
        began = time.monotonic()
        for start in range(0, entries, RUN):
            ledger, entry_id = divmod(start, LEDGER_ENTRIES)
            due_ms = [first_ms + chance.randrange(span_ms) for _ in range(RUN)]
            run = EntryRun(FIRST_LEDGER_ID + ledger, entry_id, [b""] * RUN, [0] * RUN)
            traits = EntryTraits([1] * RUN, due_ms=due_ms)
            left = delayed.hold(run, traits, range(RUN), released=False)
            assert not left, "none is due"
            delayed.due(1)  # As the dispatch loop does: it has a bucket stored when there is one.
            await log.rest()
        say("hold back", delayed.count, time.monotonic() - began)


async def reopen(folder: Path, entries: int, days: float) -> None:
    """Find them again, and take the first part that is due."""
    part = entries // TAKEN_PART
    clock = MovedClock()
    log = Log(folder, clock)
    began = time.monotonic()
    async with log as delayed:
        say("restart", delayed.count, time.monotonic() - began)
        assert entries - delayed.count <= RECENT_MAX, "only what no bucket has is read again"
        clock.ahead_s = 3600 + days * 86_400 / TAKEN_PART
        delayed.apply(POLICY)
        began, taken = time.monotonic(), 0
        while taken < part * 0.7:
            due = delayed.due(RUN)
            delayed.taken(due)
            taken += len(due)
            await log.rest()
        say("take", taken, time.monotonic() - began)


def say(what: str, count: int, seconds: float) -> None:
    used = psutil.Process().memory_info().rss / 1e6
    print(f"{what:10}{count:>12,} entries{seconds:8.1f} s{used:8.0f} MB", flush=True)
    assert used <= MEMORY_MB_MAX, f"the bound is {MEMORY_MB_MAX} MB"


def in_a_process(work, *args) -> int:
    process = multiprocessing.get_context("spawn").Process(target=run, args=(work, *args))
    process.start()
    process.join()
    return process.exitcode or 0


def run(work, *args) -> None:
    asyncio.run(work(*args))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=ENTRIES)
    parser.add_argument("--days", type=float, default=DAYS)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as place:
        print("\n".join(describe(Path(place))))
        args = Path(place), asked.entries, asked.days
        failed = in_a_process(fill, *args) or in_a_process(reopen, *args)
        stored = sum(each.stat().st_size for each in Path(place).rglob("*") if each.is_file())
        print(
            f"{'BEYOND' if failed else 'within'} {MEMORY_MB_MAX} MB; {stored / 1e6:,.0f} MB stored"
        )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
