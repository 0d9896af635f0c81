"""Reserves disk space for the metadata, so that topics can be deleted on a full disk.

Deleting topics writes metadata. SQLite's log is kept short and allocated ahead, and the database
keeps free pages: a few MiB that nothing else can take. On a disk that is full already, nothing is
done.
"""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Final

LOG_PAGES_MAX: Final = 256
"""At this length the log is moved into the database, and begins anew."""

LOG_PAGES_RESERVED: Final = 2 * LOG_PAGES_MAX

FREE_PAGES_MIN: Final = 64
FREE_PAGES_MADE: Final = 128

_PAGE_HEADER: Final = 24
_HEADER: Final = 32


def free_pages(connection: sqlite3.Connection) -> None:
    """Give the database free pages if it has few. Raises OperationalError when it is full."""
    if _pragma(connection, "freelist_count") >= FREE_PAGES_MIN:
        return
    room = (FREE_PAGES_MADE * _pragma(connection, "page_size"),)
    connection.execute("BEGIN IMMEDIATE")
    try:  # Pages are free once their table is dropped.
        connection.execute("CREATE TABLE reserve (room BLOB)")
        connection.execute("INSERT INTO reserve VALUES (zeroblob(?))", room)
        connection.execute("DROP TABLE reserve")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("PRAGMA wal_checkpoint")  # Else only the log has them.


def allocate_log(connection: sqlite3.Connection, path: Path) -> None:
    """Keep the log of the database at ``path`` short, and allocate it.

    SQLite ignores what lies behind the pages it wrote, and has its locks on other files.
    """
    connection.execute(f"PRAGMA wal_autocheckpoint = {LOG_PAGES_MAX}")
    if not hasattr(os, "posix_fallocate"):  # macOS has none.
        return
    size = _HEADER + LOG_PAGES_RESERVED * (_pragma(connection, "page_size") + _PAGE_HEADER)
    with contextlib.suppress(OSError):
        fd = os.open(path.with_name(f"{path.name}-wal"), os.O_WRONLY)
        try:
            os.posix_fallocate(fd, 0, size)
        finally:
            os.close(fd)


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
