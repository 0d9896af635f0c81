"""A file of a setting that is read again when it has changed."""

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from magnetar.errors import InvalidValue

from .key_text import file_of, read_file, read_key

log = logging.getLogger(__name__)

T = TypeVar("T")
Mark = tuple[int, int, int]
"""Identifies a file as it was read: its inode, size and time."""


def mark_of(file: Path | None) -> Mark | None:
    """The mark of a file now; None where there is none."""
    if file is None:
        return None
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class WatchedFile:
    """What a setting says where it is: a file, or the content as ``data:``, which never changes."""

    def __init__(self, setting: str, where: str) -> None:
        self._setting = setting
        self._where = where
        self._file = None if where.startswith("data:") else file_of(where)
        self._mark: Mark | None = None

    def read(self) -> bytes:
        """The content of the file. Raises InvalidValue."""
        self._mark = mark_of(self._file)
        if self._file is not None:
            return read_file(self._setting, self._file)
        return read_key(self._setting, self._where)

    def read_if_changed(self, parse: Callable[[bytes], T]) -> T | None:
        """What ``parse`` makes of it; None where it is as it was.

        What cannot be read is logged once, and nothing changes.
        """
        mark = mark_of(self._file)
        if mark == self._mark:
            return None
        try:
            return parse(self.read())
        except InvalidValue as error:
            log.warning("authentication.file_not_read what was read before goes on: %s", error)
            return None
