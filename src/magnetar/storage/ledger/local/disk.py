"""Files and folders, the only door to them: every call here blocks, and belongs in a thread.

``Files`` is what the rest of the room asks of a disk; ``RealFiles`` is the machine's own,
``tests/support/faults.py`` has one that fails on demand. Everything raises OSError.
"""

import contextlib
import errno
import fcntl
import mmap
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, Self
from uuid import UUID

from magnetar.errors import StorageError, StoreLocked

IOV_MAX: Final = 1024
"""How many pieces one ``writev`` takes on Linux and macOS."""

JOIN_BELOW: Final = 4096
"""Pieces smaller than this on average are joined: copying them is cheaper than listing them."""

DIRECT_MIN: Final = 128 * 1024
"""Bytes from which on a write past the page cache is cheaper than one through it."""

DIRECT_BLOCK: Final = 4096
"""Such writes begin and end at multiples of this, in the file and in memory."""

_DIRECT_BUFFER: Final = 2 * 1024 * 1024

PADDING: Final = bytes(64 * 1024)
"""Zeros behind a small write that made the file longer: the next writes then lie within the file,
and syncing them need not record a new size, which is one write of three."""

_NO_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)

_NOT_SUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV)
"""How a file system says that it cannot allocate, or not write past the page cache."""


_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class File(Protocol):
    """An open file, read and written at offsets. Used by one thread at a time."""

    def write(self, pieces: Sequence[bytes], offset: int) -> None:
        """Write all pieces, one after the other, from ``offset`` on."""

    def read(self, offset: int, size: int) -> bytes:
        """``size`` bytes from ``offset`` on, fewer where the file ends."""

    def sync(self) -> None:
        """Return when what was written, and the file's size, will survive a loss of power."""

    def truncate(self, size: int) -> None: ...

    def allocate(self, size: int) -> bool:
        """Make the file ``size`` bytes long, with room on the disk for all of them.

        False: the file system cannot, and nothing was done. A full disk raises, and may leave the
        file at any length.
        """

    def size(self) -> int: ...

    def close(self) -> None: ...


class Note(Protocol):
    """A few bytes at the beginning of a file, which are replaced often."""

    def put(self, data: bytes) -> None:
        """They survive the death of the process at once; a loss of power may leave older ones."""

    def close(self) -> None: ...


class Files(Protocol):
    """The file system, as far as it is needed here."""

    def open(self, path: Path, *, create: bool = False, direct: bool = False) -> File:
        """Open a file for reading and writing.

        ``direct``: what is written will be synced at once, and seldom read back soon, so it need
        not be kept in the memory of the operating system.
        """

    def open_note(self, path: Path, size: int) -> Note:
        """Open a file for bytes that are put there; it is created where it is missing."""

    def boot_id(self) -> bytes:
        """16 bytes that are others after each start of the machine; none where nobody knows."""

    def make_folder(self, path: Path) -> None:
        """Create it, with what is above it, unless it is there."""

    def names(self, folder: Path) -> list[str]: ...

    def rename(self, old: Path, new: Path) -> None: ...

    def remove(self, path: Path) -> None:
        """Remove a file; it need not be there."""

    def sync_folder(self, folder: Path) -> None:
        """Return when creations, renamings and removals in it will survive a loss of power."""


class RealFile:
    """A file of this machine."""

    def __init__(self, path: Path, *, create: bool) -> None:
        flags = os.O_RDWR | (os.O_CREAT if create else 0)
        self._fd = os.open(path, flags, 0o644)

    def write(self, pieces: Sequence[bytes], offset: int) -> None:
        size = sum(map(len, pieces))
        if size < JOIN_BELOW * len(pieces):
            pieces = [b"".join(pieces)]
        for start in range(0, len(pieces), IOV_MAX):
            offset = self._write_some(pieces[start : start + IOV_MAX], offset)

    def _write_some(self, pieces: Sequence[bytes | memoryview], offset: int) -> int:
        rest: list[bytes | memoryview] = list(pieces)
        while rest:
            written = os.pwritev(self._fd, rest, offset)
            offset += written
            done = 0
            while done < len(rest) and written >= len(rest[done]):
                written -= len(rest[done])
                done += 1
            del rest[:done]
            if written:
                rest[0] = memoryview(rest[0])[written:]
        return offset

    def read(self, offset: int, size: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        while 0 < len(data) < size:
            more = os.pread(self._fd, size - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data

    def sync(self) -> None:
        if sys.platform == "darwin":  # fsync leaves the data in the drive's own cache there
            fcntl.fcntl(self._fd, fcntl.F_FULLFSYNC)
        else:
            os.fdatasync(self._fd)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def allocate(self, size: int) -> bool:
        if sys.platform == "darwin":  # macOS has no such call.
            return False
        try:
            os.posix_fallocate(self._fd, 0, size)
        except OSError as error:
            if error.errno in _NOT_SUPPORTED:
                return False
            raise
        return True

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)


class DirectFile(RealFile):
    """A file whose large writes go past the page cache.

    A page of the cache that is new costs more than writing it: on a virtual machine up to 2 ms per
    MB, where a write past it takes 0.1 ms of CPU (``docs/performance.md``). Only whole blocks can
    go that way. So the first block is written again with what it had before, which is remembered
    from the write before, and the last one is filled up with zeros: nothing must lie behind. A
    write is one call then, and none of its pages is left for the sync. Small writes go through the
    cache; behind one at its end the file may be longer, by zeros.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        super().__init__(path, create=create)
        self._end = self.size()
        self._direct_fd: int | None = None
        self._buffer: mmap.mmap | None = None
        self._tail = b""  # What the last block has, where the last write ended at _tail_end.
        self._tail_end = -1  # -1: it is not known.
        if hasattr(os, "O_DIRECT"):
            try:
                self._direct_fd = os.open(path, os.O_WRONLY | os.O_DIRECT)
            except OSError as error:
                if error.errno not in _NOT_SUPPORTED:
                    self.close()
                    raise

    def write(self, pieces: Sequence[bytes], offset: int) -> None:
        size = sum(map(len, pieces))
        if size < DIRECT_MIN or self._direct_fd is None:
            self._tail_end = -1
            self._write_cached(pieces, offset, size)
            return
        if self._buffer is None:
            self._buffer = mmap.mmap(-1, _DIRECT_BUFFER)  # It begins at a page.
        if size < JOIN_BELOW * len(pieces):
            pieces = [b"".join(pieces)]
        head = self._before(offset)
        start, filled = offset - len(head), len(head)
        with memoryview(self._buffer) as buffer:
            buffer[:filled] = head
            for piece in pieces:
                rest = memoryview(piece)
                while rest:
                    count = min(len(rest), _DIRECT_BUFFER - filled)
                    buffer[filled : filled + count] = rest[:count]
                    filled += count
                    rest = rest[count:]
                    if filled == _DIRECT_BUFFER:
                        self._write_blocks(buffer, start)
                        start, filled = start + filled, 0
            if filled:
                stop = filled + -filled % DIRECT_BLOCK
                buffer[filled:stop] = bytes(stop - filled)
                self._write_blocks(buffer[:stop], start)
                start += stop
            self._tail = bytes(buffer[filled - filled % DIRECT_BLOCK : filled])
        self._tail_end = offset + size
        self._end = max(self._end, start)

    def truncate(self, size: int) -> None:
        super().truncate(size)
        self._end = size

    def _before(self, offset: int) -> bytes:
        """What its block has before ``offset``."""
        size = offset % DIRECT_BLOCK
        if offset == self._tail_end or not size:
            return self._tail if size else b""
        return self.read(offset - size, size).ljust(size, b"\0")

    def _write_cached(self, pieces: Sequence[bytes], offset: int, size: int) -> None:
        if offset + size > self._end:
            try:
                super().write([*pieces, PADDING], offset)
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise
            else:
                self._end = offset + size + len(PADDING)
                return
        super().write(pieces, offset)
        self._end = max(self._end, offset + size)

    def close(self) -> None:
        super().close()
        self._close_direct()
        self._buffer = None  # Not closed: an error may still refer to a part of it.

    def _close_direct(self) -> None:
        if self._direct_fd is not None:
            os.close(self._direct_fd)
            self._direct_fd = None

    def _write_blocks(self, blocks: memoryview, offset: int) -> None:
        written = 0
        if self._direct_fd is not None:
            try:
                written = os.pwrite(self._direct_fd, blocks, offset)
            except OSError as error:
                if error.errno not in _NOT_SUPPORTED:
                    raise
                self._close_direct()
        if written < len(blocks):  # The disk is nearly full, perhaps: the usual way says why.
            self._write_some([blocks[written:]], offset + written)


class RealNote:
    """Memory that the system writes to the file: to put bytes there takes no call of it.

    The room for them is taken when it is opened, so that a full disk refuses it then.
    """

    def __init__(self, path: Path, size: int) -> None:
        file = RealFile(path, create=True)
        try:
            if file.size() < size:
                file.write([bytes(size)], 0)
                file.sync()
            self._memory = mmap.mmap(file.fileno(), size)
        finally:
            file.close()

    def put(self, data: bytes) -> None:
        self._memory[: len(data)] = data

    def close(self) -> None:
        self._memory.close()


class RealFiles:
    """The file system of this machine."""

    def open(self, path: Path, *, create: bool = False, direct: bool = False) -> File:
        return DirectFile(path, create=create) if direct else RealFile(path, create=create)

    def open_note(self, path: Path, size: int) -> Note:
        return RealNote(path, size)

    def boot_id(self) -> bytes:
        try:
            return UUID(_BOOT_ID.read_text().strip()).bytes
        except (OSError, ValueError):
            return b""

    def make_folder(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def names(self, folder: Path) -> list[str]:
        return [path.name for path in folder.iterdir()]

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def sync_folder(self, folder: Path) -> None:
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class FolderLock:
    """A data folder that is ours until ``release`` or the end of the process."""

    def __init__(self, folder: Path, fd: int) -> None:
        self._folder = folder
        self._fd = fd

    @classmethod
    def take(cls, folder: Path) -> Self:
        """Lock ``folder``, which must exist. Raises StoreLocked when another process has it."""
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as refused:
            with contextlib.closing(os.fdopen(fd, "rb")) as file:
                pid = file.read(32).decode("ascii", "replace").strip()
            holder = f"process {pid}" if pid else "another process"
            raise StoreLocked(
                f"the data folder {folder} is in use by {holder}: stop it, or choose another folder"
            ) from refused
        with contextlib.suppress(OSError):  # On a full disk the lock holds without the number.
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(folder, fd)

    def check(self) -> None:
        """Raise StorageError when the folder, or the lock in it, is no longer the one we locked.

        What is written then is gone when the files are closed, and another process may take the
        folder.
        """
        try:
            there = (self._folder / "lock").stat()
        except FileNotFoundError:
            there = None
        ours = os.fstat(self._fd)
        if there is None or not os.path.samestat(there, ours):
            raise StorageError(
                f"the data folder {self._folder} was deleted, moved or replaced while the broker "
                "runs: nothing is stored any more. Stop the broker, restore the folder, and start "
                "it again"
            )

    def release(self) -> None:
        """Release the lock. May be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
