"""Files and folders, the only door to them: every call here blocks, and belongs in a thread.

``Files`` is what the rest of the room asks of a disk; ``RealFiles`` is the machine's own,
``testing/faults.py`` has one that fails on demand. Everything raises OSError.
"""

import contextlib
import errno
import fcntl
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol, Self

from magnetar.errors import StoreLocked

IOV_MAX: Final = 1024
"""Pieces one ``writev`` takes, on Linux and macOS."""

JOIN_BELOW: Final = 4096
"""Pieces smaller than this on average are joined: copying them is cheaper than listing them."""

_NOT_SUPPORTED: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS, errno.ENODEV)
"""How a file system says that it cannot allocate."""


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


class Files(Protocol):
    """The file system, as far as it is needed here."""

    def open(self, path: Path, *, create: bool = False) -> File: ...

    def make_folder(self, path: Path) -> None:
        """Create it, with what is above it, unless it is there."""

    def names(self, folder: Path) -> list[str]: ...

    def rename(self, old: Path, new: Path) -> None: ...

    def remove(self, path: Path) -> None:
        """Remove a file; fine when it is not there."""

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

    def _write_some(self, pieces: Sequence[bytes], offset: int) -> int:
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
        if sys.platform == "darwin":  # It has no such call.
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

    def close(self) -> None:
        os.close(self._fd)


class RealFiles:
    """The file system of this machine."""

    def open(self, path: Path, *, create: bool = False) -> File:
        return RealFile(path, create=create)

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

    def __init__(self, fd: int) -> None:
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
        with contextlib.suppress(OSError):  # A full disk: the lock holds, nameless.
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return cls(fd)

    def release(self) -> None:
        """Let go. May be called again."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
