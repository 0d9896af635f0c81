"""Files of ledgers in a bucket: S3, Google Cloud Storage, Azure, and what speaks like them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

import obstore
import pyarrow as pa
from obstore.exceptions import BaseError
from obstore.store import from_url

from magnetar.errors import LedgerNotFound, StorageError

if TYPE_CHECKING:
    from obstore.store import S3Config

PART_BYTES: Final = 10 * 1024 * 1024
"""A file is sent in parts of this size; one under way is in memory."""
RETRIES_MAX: Final = 5
READ_BYTES: Final = 256 * 1024
"""The least that one request fetches."""


class Bucket:
    """A bucket, or a folder in one."""

    def __init__(self, url: str, options: Mapping[str, str]) -> None:
        """``options`` as obstore has them. Raises StorageError for some that it refuses."""
        self._url = url.rstrip("/")
        try:
            self._store: Any = from_url(
                url,
                config=cast("S3Config", dict(options)),  # Or that of another cloud.
                client_options={"allow_http": options.get("endpoint", "").startswith("http:")},
                retry_config={"max_retries": RETRIES_MAX},
            )
        except (BaseError, ValueError) as error:
            raise StorageError(f"{url} cannot be used: {_said(error)}") from error

    @contextmanager
    def writing(self, name: str) -> Iterator[pa.NativeFile]:
        # It is there when it is closed; until then a bucket has parts of an upload, which it
        # forgets by its own rules.
        try:
            writer = obstore.open_writer(self._store, name, buffer_size=PART_BYTES)
            file = pa.PythonFile(_Open(writer), "w")
            yield file
            file.flush()
            writer.close()
        except (BaseError, OSError) as error:
            raise self._failed("written", name, error) from error

    def reading(self, name: str) -> pa.NativeFile:
        try:
            reader = obstore.open_reader(self._store, name, buffer_size=READ_BYTES)
        except FileNotFoundError as error:
            raise LedgerNotFound(f"there is no {self._url}/{name}") from error
        except (BaseError, OSError) as error:
            raise self._failed("read", name, error) from error
        return pa.PythonFile(_Open(reader), "r")

    def delete(self, name: str) -> None:
        try:
            obstore.delete(self._store, name)
        except FileNotFoundError:
            pass
        except (BaseError, OSError) as error:
            raise self._failed("deleted", name, error) from error

    def names(self, folder: str) -> list[str]:
        try:
            parts = obstore.list(self._store, folder)
            return sorted(str(each["path"]) for part in parts for each in part)
        except (BaseError, OSError) as error:
            raise self._failed("listed", folder, error) from error

    def _failed(self, done: str, name: str, error: Exception) -> StorageError:
        return StorageError(f"{self._url}/{name} cannot be {done}: {_said(error)}")


class _Open:
    """A file of obstore's as pyarrow wants one, whose ``closed`` is no method."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.closed = False

    def read(self, size: int) -> bytes:
        return bytes(self._file.read(size))

    def seek(self, place: int, whence: int = 0) -> int:
        return int(self._file.seek(place, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def write(self, data: Any) -> int:
        return int(self._file.write(memoryview(data).cast("B")))

    def flush(self) -> None:
        """Nothing: parts are sent as they fill up."""

    def close(self) -> None:
        self.closed = True


def _said(error: Exception) -> str:
    """The first line: what follows is for who debugs obstore."""
    return str(error).partition("\n")[0]
