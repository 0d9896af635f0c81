"""What files of ledgers lie in, a folder or a bucket of a cloud, and from a URL to it."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from magnetar.errors import InvalidValue

from .bucket import Bucket
from .file_reader import LedgerFile
from .folder import Folder

BUCKETS: Final = ("s3", "gs", "az")


class ObjectStore(Protocol):
    """Keeps files by their names, which may have folders in them. A contract.

    Everything blocks, and raises StorageError. A file appears whole or not at all.
    """

    def writing(self, name: str) -> AbstractContextManager[pa.NativeFile]:
        """What the file is written to. It is there when the block ends, unless that raised."""

    def reading(self, name: str) -> pa.NativeFile:
        """What the file is read from; the caller closes it. Raises LedgerNotFound."""

    def delete(self, name: str) -> None:
        """Delete a file, and what is left of an attempt to write it. It need not be there."""

    def names(self, folder: str) -> list[str]:
        """The files in a folder and below it."""


def store_at(url: str, options: Mapping[str, str] | None = None) -> ObjectStore:
    """The store at ``file:///folder``, ``s3://bucket/folder``, ``gs://...`` or ``az://...``.

    ``options`` are what obstore needs for a bucket, by its names, and what they leave open comes
    from the environment, as with the clouds' own tools. Raises InvalidValue, StorageError.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        return Folder(Path(unquote(parts.path)))
    if parts.scheme in BUCKETS:
        return Bucket(url, options or {})
    raise InvalidValue(f"{url!r} is no place for files: it begins with none of file, {BUCKETS}")


def open_ledger(store: ObjectStore, name: str) -> LedgerFile:
    """Open the file of a ledger; the caller closes it. Raises LedgerNotFound, CorruptEntry."""
    return LedgerFile(store.reading(name), name)
