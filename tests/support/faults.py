"""A disk that fails on demand: what ``storage/ledger/local`` must survive, and is tested against.

    files = FaultyFiles()
    store = await LocalLedgerStore.start(folder, files=files)

* A write or a sync fails: ``fail_writes``, ``fail_syncs``; the file, as after a failed sync on
  Linux, keeps showing bytes that will never reach the disk.
* The disk is full: ``space_left`` bytes by which files may still grow. The file system cannot
  allocate: ``allocates``.
* A sync takes long: ``hold_syncs``.
* Power is lost: ``cut_power``, and once whoever used the files has closed, ``lose_power``. What
  was synced is there. Of the rest each sector is there or not, whatever the order of the writes;
  files created, renamed or removed since their folder was synced are so, or are not. A note has
  any of the bytes that were put there.

Syncs are played, not carried out: what would be on disk is kept in memory.

Kinder than the world: sectors of 512 bytes are never torn, bytes at rest never rot (tests flip
them by hand), and what was synced stays.
"""

import contextlib
import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from magnetar.storage.ledger.local.disk import File, Note, RealFiles

SECTOR = 512


class Chance(Protocol):
    """What of ``random.Random`` decides here."""

    def random(self) -> float: ...

    def randint(self, low: int, high: int, /) -> int: ...


@dataclass(slots=True)
class _Medium:
    """What of one file a loss of power leaves."""

    path: Path
    image: bytes = b""
    dirty: set[int] = field(default_factory=set)  # Sectors written since the last sync.
    lost: set[int] = field(default_factory=set)  # Sectors whose sync failed.


@dataclass(slots=True)
class _Change:
    """A change to a folder that is not on disk yet."""

    folder: Path
    undo: Callable[[], None]


@dataclass(slots=True)
class _Fault:
    """An error for the next ``times`` calls that concern files with ``name`` in their name."""

    error: int
    times: int
    name: str

    def strikes(self, path: Path) -> bool:
        if self.times <= 0 or self.name not in path.name:
            return False
        self.times -= 1
        return True


class FaultyFiles:
    """``Files`` of this machine, with faults. May be used by several threads."""

    def __init__(self) -> None:
        self.space_left: int | None = None
        self.allocates = True
        self.writes = 0
        self.syncs = 0
        self.folder_syncs = 0
        self.sync_waits = threading.Event()  # Set while a sync is being held.
        self._real = RealFiles()
        self._lock = threading.RLock()
        self._media: dict[Path, _Medium] = {}
        self._notes: dict[Path, list[bytes]] = {}  # What was put there, the newest last.
        self._boots = 0  # How often the machine was started again.
        self._changes: list[_Change] = []
        self._write_fault = _Fault(0, 0, "")
        self._sync_fault = _Fault(0, 0, "")
        self._may_sync = threading.Event()
        self._may_sync.set()
        self.write_waits = threading.Event()  # Set while a write is being held.
        self._may_write = threading.Event()
        self._may_write.set()
        self.dead = False  # Power was cut.

    def fail_writes(self, error: int = errno.EIO, *, times: int = 1, name: str = "") -> None:
        """The next writes stop half way and fail."""
        self._write_fault = _Fault(error, times, name)

    def fail_syncs(self, error: int = errno.EIO, *, times: int = 1, name: str = "") -> None:
        """The next syncs fail, and what they should have synced will never be on disk."""
        self._sync_fault = _Fault(error, times, name)

    @property
    def failures_left(self) -> int:
        """How many writes and syncs are still to fail."""
        return self._write_fault.times + self._sync_fault.times

    def repair(self) -> None:
        """No more failures, and all the space there is."""
        self._write_fault.times = self._sync_fault.times = 0
        self.space_left = None

    @contextlib.contextmanager
    def hold_syncs(self) -> Iterator[None]:
        """Syncs do not return before this is left."""
        self._may_sync.clear()
        try:
            yield
        finally:
            self._may_sync.set()
            self.sync_waits.clear()

    @contextlib.contextmanager
    def hold_writes(self) -> Iterator[None]:
        """Writes do not begin before this is left."""
        self._may_write.clear()
        try:
            yield
        finally:
            self._may_write.set()
            self.write_waits.clear()

    def cut_power(self) -> None:
        """From now on nothing is written, and every call but a read fails."""
        with self._lock:
            self.dead = True

    def restore_power(self) -> None:
        """After ``cut_power``, nothing was lost: a process died, and the machine lived."""
        with self._lock:
            self.dead = False

    def lose_power(self, chance: Chance) -> None:
        """Leave on disk what a loss of power might, and go on from there."""
        with self._lock:
            self.dead = False
            kept = chance.randint(0, len(self._changes))
            for change in reversed(self._changes[kept:]):
                change.undo()
            self._changes.clear()
            for path, medium in self._media.items():
                if path.exists():
                    path.write_bytes(_survivors(path.read_bytes(), medium, chance))
            self._media.clear()
            for path, puts in self._notes.items():
                if path.exists():
                    path.write_bytes(puts[chance.randint(0, len(puts) - 1)])
            self._notes.clear()
            self._boots += 1

    def open(self, path: Path, *, create: bool = False, direct: bool = False) -> File:
        with self.powered() if create else self._lock:
            there = path.exists()
            file = self._real.open(path, create=create, direct=direct)
            if not there:
                self._media[path] = _Medium(path)
                self._changes.append(_Change(path.parent, lambda: self._real.remove(path)))
            elif path not in self._media:
                self._media[path] = _Medium(path, path.read_bytes())
            return _FaultyFile(self, file, self._media[path])

    def open_note(self, path: Path, size: int) -> Note:
        with self.powered():
            there = path.read_bytes() if path.exists() else bytes(size)
            self._notes.setdefault(path, [there])
            return _FaultyNote(self, self._real.open_note(path, size), self._notes[path])

    def boot_id(self) -> bytes:
        return b"boot%012d" % self._boots

    def make_folder(self, path: Path) -> None:
        self._real.make_folder(path)

    def names(self, folder: Path) -> list[str]:
        return self._real.names(folder)

    def rename(self, old: Path, new: Path) -> None:
        with self.powered():
            self._real.rename(old, new)
            self._follow(old, new)
            self._changes.append(_Change(new.parent, lambda: self._undo_rename(old, new)))

    def remove(self, path: Path) -> None:
        with self.powered():
            if not path.exists():
                return
            data, medium = path.read_bytes(), self._media.pop(path, None)
            self._real.remove(path)
            self.freed(len(data))
            self._changes.append(
                _Change(path.parent, lambda: self._undo_remove(path, data, medium))
            )

    def sync_folder(self, folder: Path) -> None:
        with self.powered():
            self.folder_syncs += 1
            self._changes = [change for change in self._changes if change.folder != folder]

    def _follow(self, old: Path, new: Path) -> None:
        medium = self._media.pop(old, None)
        if medium is not None:
            medium.path = new
            self._media[new] = medium

    def _undo_rename(self, old: Path, new: Path) -> None:
        self._real.rename(new, old)
        self._follow(new, old)

    def _undo_remove(self, path: Path, data: bytes, medium: _Medium | None) -> None:
        path.write_bytes(data)
        if medium is not None:
            self._media[path] = medium

    @contextlib.contextmanager
    def powered(self) -> Iterator[None]:
        """Nobody cuts the power in here. Raises OSError where it is cut already."""
        with self._lock:
            if self.dead:
                raise OSError(errno.EIO, "the power is cut")
            yield

    def about_to_write(self, path: Path, growth: int, size: int) -> int:
        """How many of ``size`` bytes get written before the write fails; all of them: it will not.

        Bytes by which a file grows are taken from ``space_left``.
        """
        if not self._may_write.is_set():
            self.write_waits.set()
            self._may_write.wait()
        with self.powered():
            self.writes += 1
            if self._write_fault.strikes(path):
                return size // 2
            if self.space_left is None or growth <= 0:
                return size
            short = max(0, growth - self.space_left)
            self.space_left -= growth - short
            return size - short

    def freed(self, size: int) -> None:
        """So many bytes of the disk can be used again."""
        if self.space_left is not None:
            self.space_left += size

    def write_error(self) -> OSError:
        error = errno.ENOSPC if self.space_left is not None else self._write_fault.error
        return OSError(error, os.strerror(error))

    def about_to_sync(self, path: Path) -> OSError | None:
        """Wait where syncs are held; the error the sync is to fail with."""
        if not self._may_sync.is_set():
            self.sync_waits.set()
            self._may_sync.wait()
        with self._lock:
            self.syncs += 1
            if self._sync_fault.strikes(path):
                return OSError(self._sync_fault.error, os.strerror(self._sync_fault.error))
            return None


class _FaultyFile:
    """A file of ``FaultyFiles``."""

    def __init__(self, files: FaultyFiles, file: File, medium: _Medium) -> None:
        self._files = files
        self._file = file
        self._medium = medium

    def write(self, pieces: Sequence[bytes], offset: int) -> None:
        data = b"".join(pieces)
        with self._files.powered():
            before = self._file.size()
            growth = offset + len(data) - max(before, offset)
            size = self._files.about_to_write(self._medium.path, growth, len(data))
            self._file.write([data[:size]], offset)
            # No zeros in advance: what grows is counted.
            self._file.truncate(max(before, offset + size))
            touched = range(offset // SECTOR, (offset + size + SECTOR - 1) // SECTOR)
            self._medium.dirty.update(touched)
            self._medium.lost.difference_update(touched)
        if size < len(data):
            raise self._files.write_error()

    def read(self, offset: int, size: int) -> bytes:
        return self._file.read(offset, size)

    def sync(self) -> None:
        medium = self._medium
        error = self._files.about_to_sync(medium.path)
        with self._files.powered():
            written, medium.dirty = medium.dirty, set()
            if error is not None:
                medium.lost |= written
                raise error
            image = bytearray(self._file.read(0, self._file.size()))
            for sector in medium.lost:
                place = slice(sector * SECTOR, (sector + 1) * SECTOR)
                image[place] = medium.image[place].ljust(len(image[place]), b"\0")
            medium.image = bytes(image)

    def truncate(self, size: int) -> None:
        with self._files.powered():
            self._files.freed(max(0, self._file.size() - size))
            self._file.truncate(size)

    def allocate(self, size: int) -> bool:
        if not self._files.allocates:
            return False
        with self._files.powered():
            before = self._file.size()
            growth = max(0, size - before)
            got = self._files.about_to_write(self._medium.path, growth, growth)
            self._file.truncate(before + got)
        if got < growth:
            raise self._files.write_error()
        return True

    def size(self) -> int:
        return self._file.size()

    def close(self) -> None:
        self._file.close()


class _FaultyNote:
    """A note of ``FaultyFiles``: nothing is put there once the power is cut."""

    def __init__(self, files: FaultyFiles, note: Note, puts: list[bytes]) -> None:
        self._files = files
        self._note = note
        self._puts = puts

    def put(self, data: bytes) -> None:
        with contextlib.suppress(OSError), self._files.powered():
            self._note.put(data)
            self._puts.append(data)

    def close(self) -> None:
        self._note.close()


def _survivors(now: bytes, medium: _Medium, chance: Chance) -> bytes:
    """A file after the lights came back."""
    result = bytearray(medium.image)
    if chance.random() < 0.5:  # The new length got there.
        result = result[: len(now)].ljust(len(now), b"\0")
    for sector in medium.dirty:
        place = slice(sector * SECTOR, (sector + 1) * SECTOR)
        if chance.random() < 0.5 and place.start < len(result):
            result[place] = now[place][: len(result[place])].ljust(len(result[place]), b"\0")
    return bytes(result)
