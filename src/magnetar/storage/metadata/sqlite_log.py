"""Whether SQLite's write-ahead log is all there, asked before SQLite opens the database.

SQLite believes a log up to the first page that fails its checksum, and takes a log that is gone
for an empty one: after a crash, a flipped bit or a lost file would take committed changes back
without a word. But ``-shm``, the index that its processes share, says how many pages were
committed. Where it outlived the crash, the log must hold as many. (A loss of power may take the
index along; then nobody knows, and the log is believed as SQLite does.)

How many pages SQLite believes, SQLite says itself: of a copy of the log, whose index it makes anew.
"""

import contextlib
import sqlite3
import struct
import tempfile
from pathlib import Path
from typing import Final

from magnetar.errors import StorageError

# The index: the same 48 bytes twice, in the machine's own order. They begin with a version; the
# number of pages committed is at 16, the salt of the log at 32.
_VERSION: Final = 3007000
_INDEX_COPY: Final = 48

# The log's header, big-endian: magic | version | page size | count | salt (8) | checksum (8).
_HEADER_SIZE: Final = 32
_LITTLE: Final = 0x377F0682  # The magic of a log whose checksums read words little-endian.
_PAGE: Final = 4096


def check_log(path: Path) -> None:
    """Raises StorageError, naming file and remedy, when commits of the database are missing.

    Blocking, for a thread. To be called before the database is opened: opening it mends the traces.
    """
    index, log = path.with_name(f"{path.name}-shm"), path.with_name(f"{path.name}-wal")
    committed, salt = read_index(_bytes_of(index))
    if not committed:
        return
    data = _bytes_of(log)
    intact = _header_intact(data)
    if intact and data[16:24] != salt:
        return  # The index is of an earlier log: it survived a loss of power, and says nothing.
    missing = committed - (_pages_believed(data) if intact else 0)
    if missing <= 0:
        return
    how = "is damaged" if log.exists() else "is missing"
    raise StorageError(
        f"{log} {how}: {missing} of {committed} pages with the last changes cannot be read. "
        f"Restore it, or the folder from a backup; to go on without those changes, "
        f"remove {index.name}"
    )


def read_index(index: bytes) -> tuple[int, bytes]:
    """How many pages were committed, 0 when the index does not say; and the salt of their log."""
    copy = index[:_INDEX_COPY]
    if len(copy) < _INDEX_COPY or copy != index[_INDEX_COPY : 2 * _INDEX_COPY]:
        return 0, b""
    version, pages, salt = struct.unpack_from("=I12xI12x8s", copy)
    return (pages, salt) if version == _VERSION else (0, b"")


def _header_intact(log: bytes) -> bool:
    """Whether the log's header has its own checksum: for each two words, a += x + b, b += y + a."""
    if len(log) < _HEADER_SIZE:
        return False
    order = "<" if int.from_bytes(log[:4], "big") == _LITTLE else ">"
    words = struct.unpack_from(f"{order}6I", log)
    a = b = 0
    for x, y in zip(words[::2], words[1::2], strict=True):
        a = (a + x + b) % 2**32
        b = (b + y + a) % 2**32
    return struct.pack(">II", a, b) == log[_HEADER_SIZE - 8 : _HEADER_SIZE]


def _pages_believed(log: bytes) -> int:
    """How many pages of a log SQLite takes for committed."""
    with tempfile.TemporaryDirectory(prefix="magnetar-") as folder:
        copy = Path(folder) / "copy"
        try:
            copy.write_bytes(bytes(_PAGE))  # SQLite takes no log of a database without pages.
            copy.with_name("copy-wal").write_bytes(log)
        except OSError as error:
            raise StorageError(
                f"the metadata's log cannot be checked in {folder} ({error}): make space there, or "
                "set TMPDIR to another folder"
            ) from error
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            with contextlib.suppress(sqlite3.Error):  # Its only page is empty, but for the log.
                connection.execute("PRAGMA user_version")
            return read_index(_bytes_of(copy.with_name("copy-shm")))[0]


def _bytes_of(path: Path) -> bytes:
    """What a file holds; nothing where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error}): check the disk") from error
