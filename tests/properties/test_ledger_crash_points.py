"""Death at any call to the disk, while working, starting or closing; several deaths in a row."""

import asyncio
import errno
import tempfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from properties.test_ledger_crash import Life
from support.faults import FaultyFiles

from magnetar.errors import StorageError
from magnetar.storage.ledger.local.disk import File


class MortalFiles(FaultyFiles):
    """Dies at a call that changes the disk: before it is done, or after, or half-way."""

    def __init__(self, chance):
        super().__init__()
        self.chance = chance
        self.calls_left = None
        self.killer = None

    def _count(self, call):
        with self._lock:
            if self.calls_left is None:
                return False
            self.calls_left -= 1
            if self.calls_left != 0:
                return False
            self.killer = call
            return True

    def _around(self, name, call):
        dies = self._count(name)
        if dies and self.chance.random() < 0.5:
            self.cut_power()
        result = call()
        if dies:
            self.cut_power()
            raise OSError(errno.EIO, "the power is cut")
        return result

    def open(self, path, *, create=False, direct=False):
        if create and not path.exists():
            return _MortalFile(
                self,
                self._around(
                    "create",
                    lambda: super(MortalFiles, self).open(path, create=True, direct=direct),
                ),
            )
        return _MortalFile(self, super().open(path, create=create, direct=direct))

    def rename(self, old, new):
        self._around("rename", lambda: super(MortalFiles, self).rename(old, new))

    def remove(self, path):
        self._around("remove", lambda: super(MortalFiles, self).remove(path))

    def sync_folder(self, folder):
        self._around("sync_folder", lambda: super(MortalFiles, self).sync_folder(folder))


class _MortalFile:
    def __init__(self, files: MortalFiles, file: File) -> None:
        self._files = files
        self._file = file

    def write(self, pieces, offset):
        if self._files._count("write"):
            data = b"".join(pieces)
            size = self._files.chance.randint(0, len(data))
            if size:
                self._file.write([data[:size]], offset)
            self._files.cut_power()
            raise OSError(errno.EIO, "the power is cut")
        self._file.write(pieces, offset)

    def sync(self):
        self._files._around("sync", self._file.sync)

    def truncate(self, size):
        self._files._around("truncate", lambda: self._file.truncate(size))

    def allocate(self, size):
        before = self._file.size()
        if self._files._count("allocate"):  # Half done.
            self._file.truncate(self._files.chance.randint(before, max(before, size)))
            self._files.cut_power()
            raise OSError(errno.EIO, "the power is cut")
        return self._file.allocate(size)

    def read(self, offset, size):
        return self._file.read(offset, size)

    def size(self):
        return self._file.size()

    def close(self):
        self._file.close()


class MortalLife(Life):
    """Ends at a call to the disk, wherever that is."""

    def __init__(self, folder, seed):
        super().__init__(folder, seed)
        self.files = MortalFiles(Random(seed + 1))
        self.deaths = []

    async def live(self):
        """One life, with a death in it or after it."""
        chance, files = self.chance, self.files
        files.calls_left = chance.choice([1, 2, 3, 5, 8, 13, 20, 40, 80])
        running = set()
        started = False
        try:
            await self.begin()
            started = True
            await self.check()
            running = await self.work(chance.randint(1, 40))
        except (StorageError, OSError):
            if not files.dead:
                raise
        if started and chance.random() < 0.3 and not files.dead:
            await self.settle(running)
            running = set()
            await self.store.close()
        if not files.dead:
            files.killer = "idle"
        files.calls_left = None
        files.cut_power()
        if started:
            await self.store.close()
        await self.settle(running)
        how = chance.choice(["killed", "power lost"])
        self.deaths.append((started, files.killer, how))
        if how == "killed":
            files.restore_power()
        else:
            files.lose_power(chance)

    async def check(self):
        try:
            await super().check()
        except AssertionError as error:
            raise AssertionError(f"{error} after {self.deaths}") from error


async def lives(folder, seed):
    life = MortalLife(folder, seed)
    for _ in range(life.chance.randint(2, 7)):
        await life.live()
    await life.begin()
    await life.check()
    await life.store.close()


@pytest.mark.timeout(300)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_a_death_at_any_call_loses_nothing_answered(seed):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(lives(Path(folder), seed))
