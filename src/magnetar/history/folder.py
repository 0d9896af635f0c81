"""Files of ledgers in a local folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import pyarrow as pa

from magnetar.errors import LedgerNotFound, StorageError

_UNFINISHED: Final = ".unfinished"


class Folder:
    """A folder, which is created when the first file is."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def writing(self, name: str) -> Iterator[pa.NativeFile]:
        path = self._path / name
        unfinished = path.with_name(path.name + _UNFINISHED)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with pa.OSFile(str(unfinished), "wb") as file:
                yield file
            _sync(unfinished)
            unfinished.replace(path)
            _sync(path.parent)
        except OSError as error:
            raise StorageError(f"{path} cannot be written: {error}") from error
        finally:
            with suppress(OSError):
                unfinished.unlink()

    def reading(self, name: str) -> pa.NativeFile:
        path = self._path / name
        try:
            return pa.OSFile(str(path), "rb")
        except FileNotFoundError as error:
            raise LedgerNotFound(f"there is no file {path}") from error
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error}") from error

    def delete(self, name: str) -> None:
        path = self._path / name
        try:
            for each in (path, path.with_name(path.name + _UNFINISHED)):
                each.unlink(missing_ok=True)
        except OSError as error:
            raise StorageError(f"{path} cannot be deleted: {error}") from error

    def names(self, folder: str) -> list[str]:
        found = (self._path / folder).rglob("*")
        return sorted(str(each.relative_to(self._path)) for each in found if each.is_file())


def _sync(path: Path) -> None:
    """Wait until a file, or what is in a folder, would outlive a power cut."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
