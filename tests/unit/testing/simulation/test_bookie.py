import asyncio
from random import Random

import pytest

from magnetar.storage.ledger.bookkeeper.wire import Code, Flag
from magnetar.testing.simulation.bookie import Bookie, Disk
from magnetar.testing.simulation.loop import SimulatedLoop

LEDGER = 7
SIZE = 100


def entry(number):
    return LEDGER.to_bytes(8) + number.to_bytes(8) + b"x" * (SIZE - 16)


class Asked:
    """Somebody who adds entries, and notes the codes that are answered."""

    def __init__(self, disk):
        self.bookie = Bookie(disk)
        self.presences = []
        self.codes = {}
        self.bookie.presence_changed = lambda: self.presences.append(self.bookie.read_only)

    def add(self, number, flags=Flag.NONE):
        def answer(code, _ledger_id, entry_id):
            self.codes[entry_id] = code

        self.bookie.add(b"key", entry(number), flags, answer)


@pytest.fixture
def disk():
    return Disk(Random(1))


def run(work):
    loop = SimulatedLoop()
    try:
        loop.run_until_complete(work())
    finally:
        loop.close()


def test_a_bookie_with_a_full_disk_is_read_only_until_there_is_room(disk):
    async def work():
        asked = Asked(disk)
        disk.room = SIZE
        for number in range(3):
            asked.add(number)
        asked.add(3, Flag.RECOVERY_ADD | Flag.HIGH_PRIORITY)
        await asyncio.sleep(1.0)
        assert asked.codes == {0: Code.OK, 1: Code.IO_ERROR, 2: Code.READ_ONLY, 3: Code.OK}
        await asyncio.sleep(20.0)
        assert asked.presences == [True]
        disk.room = None
        await asyncio.sleep(10.0)
        assert asked.presences == [True, False]
        asked.add(4)
        await asyncio.sleep(1.0)
        assert asked.codes[4] == Code.OK
        assert sorted(disk.synced[LEDGER].entries) == [0, 3, 4]

    run(work)


def test_one_that_begins_with_a_full_disk_is_read_only(disk):
    async def work():
        disk.room = 0
        assert Asked(disk).bookie.read_only

    run(work)


def test_an_entry_is_torn_where_power_is_lost_while_it_is_written(disk):
    async def work():
        asked = Asked(disk)
        asked.add(0)
        await asyncio.sleep(1.0)
        disk.fuse, lost = 0, []
        disk.blown = lambda: lost.append(asked.codes.copy())
        asked.add(1)
        await asyncio.sleep(1.0)
        assert lost == [{0: Code.OK}], "it was not answered yet"

        disk.syncing, disk.tears = [], True
        asked.add(2)
        Bookie(disk)
        stored = disk.synced[LEDGER]
        assert stored.torn == {2}
        assert len(stored.entries[2]) == SIZE
        assert stored.entries[2] != entry(2)
        assert stored.entries[2][:16] == entry(2)[:16]

    run(work)


def test_reads_wait_for_a_slow_disk(disk):
    async def work():
        asked, read = Asked(disk), []
        asked.bookie.after_read(lambda: read.append("at once"))
        disk.read_s = 1.0, 2.0
        asked.bookie.after_read(lambda: read.append("late"))
        assert read == ["at once"]
        await asyncio.sleep(2.5)
        assert read == ["at once", "late"]

    run(work)
