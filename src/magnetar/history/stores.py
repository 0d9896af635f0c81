"""From a URL to the store behind it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from magnetar.errors import InvalidValue

from .bucket import Bucket
from .file_reader import LedgerFile
from .folder import Folder
from .object_store import ObjectStore

BUCKETS: Final = ("s3", "gs", "az")


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
