"""Checks that SQLite's write-ahead log is complete, before SQLite opens the database.

SQLite reads a log up to the first page that fails its checksum, and takes a missing log for an
empty one: after a crash, a flipped bit or a lost file would take committed changes back without an
error. But ``-shm``, the index that its processes share, says how many pages were committed. Where
it survived the crash, the log must have as many. (After a loss of power there may be no index; then
nothing can be checked.)

SQLite itself says how many pages it reads: of a copy of the log, for which it makes a new index.
"""

import contextlib
import sqlite3
import struct
from pathlib import Path
from typing import Final

from magnetar.errors import StorageError

# The index begins with the same 48 bytes twice, in the machine's own order: a version, the number
# of pages committed at 16, the salt of the log at 32.
_VERSION: Final = 3007000
_INDEX_COPY: Final = 48

# The log's header is big-endian: magic | version | page size | count | salt (8) | checksum (8).
_HEADER_SIZE: Final = 32
_LITTLE: Final = 0x377F0682  # This magic says that checksums read words little-endian.
_PAGE: Final = 4096


def check_log(path: Path) -> None:
    """Raises StorageError, naming file and remedy, when commits of the database are missing.

    It blocks. It must be called before the database is opened, which makes a new index.
    """
    index, log = path.with_name(f"{path.name}-shm"), path.with_name(f"{path.name}-wal")
    committed, salt = read_index(_bytes_of(index))
    if not committed:
        return
    data = _bytes_of(log)
    intact = _header_intact(data)
    if intact and data[16:24] != salt:
        return  # After a loss of power, the index may be that of an earlier log.
    missing = committed - (_pages_read(data) if intact else 0)
    if missing <= 0:
        return
    how = "is damaged" if log.exists() else "is missing"
    raise StorageError(
        f"{log} {how}: {missing} of {committed} pages with the last changes cannot be read. "
        f"Restore it, or the folder from a backup; to go on without those changes, "
        f"remove {index.name}"
    )


def read_index(index: bytes) -> tuple[int, bytes]:
    """Return how many pages were committed, 0 if that is not known, and the salt of their log."""
    copy = index[:_INDEX_COPY]
    if len(copy) < _INDEX_COPY or copy != index[_INDEX_COPY : 2 * _INDEX_COPY]:
        return 0, b""
    version, pages, salt = struct.unpack_from("=I12xI12x8s", copy)
    return (pages, salt) if version == _VERSION else (0, b"")


def _header_intact(log: bytes) -> bool:
    """Verify the header's checksum: for each two words, a += x + b and b += y + a."""
    if len(log) < _HEADER_SIZE:
        return False
    order = "<" if int.from_bytes(log[:4], "big") == _LITTLE else ">"
    words = struct.unpack_from(f"{order}6I", log)
    a = b = 0
    for x, y in zip(words[::2], words[1::2], strict=True):
        a = (a + x + b) % 2**32
        b = (b + y + a) % 2**32
    return struct.pack(">II", a, b) == log[_HEADER_SIZE - 8 : _HEADER_SIZE]


def _pages_read(log: bytes) -> int:
    """Return how many pages of a log SQLite takes for committed."""
    import tempfile  # noqa: PLC0415 - a broker that was stopped in order has no log

    with tempfile.TemporaryDirectory(prefix="magnetar-") as folder:
        copy = Path(folder) / "copy"
        try:
            copy.write_bytes(bytes(_PAGE))  # Without a page there is no database to have a log.
            copy.with_name("copy-wal").write_bytes(log)
        except OSError as error:
            raise StorageError(
                f"the metadata's log cannot be checked in {folder} ({error}): make space there, or "
                "set TMPDIR to another folder"
            ) from error
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            with contextlib.suppress(sqlite3.Error):  # The database is only an empty page.
                connection.execute("PRAGMA user_version")
            return read_index(_bytes_of(copy.with_name("copy-shm")))[0]


def _bytes_of(path: Path) -> bytes:
    """Read a file; return nothing where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error}): check the disk") from error
