"""Whatever the disk does, and whenever power is lost: answered entries stay, and nothing else."""

import asyncio
import contextlib
import errno
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import FaultyFiles
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import LedgerFenced, LedgerNotFound, StorageError, WriteFailed
from magnetar.storage.ledger.local.settings import LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SETTINGS = LocalLedgerSettings(segment_size=16 * 1024, compaction_share=0.6)


@dataclass
class Expected:
    """What we know of a ledger."""

    sent: list[bytes] = field(default_factory=list)
    answered: int = 0
    deleted: bool = False  # Asked for.
    gone: bool = False  # Answered.


class Life:
    """Random work on one folder, over several lives of the process."""

    def __init__(self, folder, seed):
        self.folder = folder
        self.chance = Random(seed)
        self.ledgers = {}
        self.writers = {}
        self.files = FaultyFiles()
        self.store = None

    async def begin(self):
        self.files.repair()
        self.store = await LocalLedgerStore.start(self.folder, settings=SETTINGS, files=self.files)
        self.writers = {}

    async def work(self, steps):
        actions = [self.append] * 10 + [self.create] * 3 + [self.delete] * 2 + [self.break_disk]
        running = set()
        for _ in range(steps):
            step = asyncio.ensure_future(self.chance.choice(actions)())
            running.add(step)
            if self.chance.random() < 0.7:
                await asyncio.wait(running)
                running = {each for each in running if not each.done()}
        return running

    async def create(self):
        with contextlib.suppress(WriteFailed):
            writer = await self.store.create()
            assert writer.ledger_id > max(self.ledgers, default=0)
            self.ledgers[writer.ledger_id] = Expected()
            self.writers[writer.ledger_id] = writer

    async def append(self):
        if not self.writers:
            return
        writer = self.writers[self.chance.choice(list(self.writers))]
        expected = self.ledgers[writer.ledger_id]
        count = self.chance.choice([1, 1, 2, 5, 30])
        size = self.chance.choice([0, 10, 100, 700, 5000])
        data, checksums = run(
            *(self.chance.randbytes(self.chance.randint(0, size)) for _ in range(count))
        )
        first = len(expected.sent)
        expected.sent += data
        try:
            assert await append(writer, data, checksums) == first
            assert not expected.gone
            expected.answered = first + count
        except (WriteFailed, LedgerFenced):
            self.writers.pop(writer.ledger_id, None)

    async def delete(self):
        known = [each for each, expected in self.ledgers.items() if not expected.deleted]
        if known:
            ledger_id = self.chance.choice(known)
            self.ledgers[ledger_id].deleted = True
            self.writers.pop(ledger_id, None)
            with contextlib.suppress(WriteFailed):
                await self.store.delete(ledger_id)
                self.ledgers[ledger_id].gone = True

    async def break_disk(self):
        what = self.chance.randint(0, 3)
        if what == 0:
            self.files.fail_syncs(times=self.chance.randint(1, 3))
        elif what == 1:
            self.files.fail_writes(errno.EIO, times=self.chance.randint(1, 3))
        else:
            self.files.space_left = None if self.files.space_left else 20_000

    async def check(self):
        for ledger_id, expected in self.ledgers.items():
            try:
                reader = await self.store.open(ledger_id)
            except LedgerNotFound:
                assert expected.deleted
                expected.gone = True
                continue
            assert not expected.gone
            if expected.deleted:
                continue  # Half of it may be gone already.
            found = await everything(reader)
            assert len(found) >= expected.answered
            assert found == expected.sent[: len(found)]
            expected.sent = found
            expected.answered = len(found)
            assert reader.end == (len(found) - 1, sum(map(len, found)))

    async def end(self, running):
        how = self.chance.choice(["closed", "killed", "power lost", "power lost"])
        if how == "closed":
            await self.settle(running)
            await self.store.close()
            return
        self.files.cut_power()
        await self.store.close()
        await self.settle(running)
        if how == "killed":
            self.files.restore_power()
        else:
            self.files.lose_power(self.chance)

    async def settle(self, running):
        for step in running:
            with contextlib.suppress(StorageError):
                await step


@pytest.mark.timeout(300)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_answered_entries_survive(seed):
    async def several_lives(folder):
        life = Life(folder, seed)
        for _ in range(life.chance.randint(2, 5)):
            await life.begin()
            await life.check()
            running = await life.work(life.chance.randint(1, 60))
            await life.end(running)
        await life.begin()
        await life.check()
        await life.store.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(several_lives(Path(folder)))
