"""Which log each ledger is in, and so which ids have been given: one file for all processes.

    "MAGNETAR" | version | first id | a byte for each ledger, the number of its log

A ledger's id is where its byte is: appending a byte takes the next id, and the system lets one
process append at a time. So ids ascend whoever takes them, without a lock that a process which is
stopped could hold. An id is given once its byte is on disk. Ledgers below the first id are of the
time when there was one log, and are in that.
"""

import asyncio
import os
import struct
from pathlib import Path
from typing import Final

from magnetar.errors import StorageError

NAME: Final = "ledgers.directory"
_HEADER: Final = struct.Struct("<8sIQ")
_MAGIC: Final = b"MAGNETAR"
_VERSION: Final = 1


class LedgerDirectory:
    """The open file. Appending and reading a byte of it is done at once; syncing, in a thread."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises StorageError, with the remedy, where it is none."""
        try:
            self._file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            header = os.pread(self._file, _HEADER.size, 0)
        except OSError as error:
            raise StorageError(
                f"{path}, which says where ledgers are, cannot be read ({error}): restore it "
                "from a backup"
            ) from error
        if len(header) < _HEADER.size or header[:12] != struct.pack("<8sI", _MAGIC, _VERSION):
            os.close(self._file)
            raise StorageError(
                f"{path} is no directory of ledgers of this Magnetar: restore it from a backup, or "
                "start the Magnetar that wrote it"
            )
        self._first: int = _HEADER.unpack(header)[2]

    @staticmethod
    def create(path: Path, first_id: int) -> None:
        """Make the file, whole or not at all. Ledgers below ``first_id`` are in the first log."""
        unfinished = path.with_suffix(".unfinished")
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.write(file, _HEADER.pack(_MAGIC, _VERSION, first_id))
            os.fsync(file)
        finally:
            os.close(file)
        unfinished.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        os.close(self._file)

    async def take(self, log: int) -> int:
        """A new id, for a ledger in a log. Raises StorageError where the disk refuses."""
        try:
            os.write(self._file, bytes([log]))
            at = os.lseek(self._file, 0, os.SEEK_CUR) - 1
            await asyncio.get_running_loop().run_in_executor(None, os.fdatasync, self._file)
        except OSError as error:
            raise StorageError(
                f"no ledger can be created ({error}): make space, or check the disk"
            ) from error
        return self._first + at - _HEADER.size

    def log_of(self, ledger_id: int) -> int | None:
        """The number of the log that a ledger is in; None: there is no such ledger."""
        if ledger_id < self._first:
            return 0
        found = os.pread(self._file, 1, _HEADER.size + ledger_id - self._first)
        return found[0] if found else None
