"""The contract of what files of ledgers lie in: a folder, or a bucket of a cloud.

Everything blocks, and raises StorageError. A file appears whole or not at all.
"""

from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa


class ObjectStore(Protocol):
    """Keeps files by their names, which may have folders in them."""

    def writing(self, name: str) -> AbstractContextManager[pa.NativeFile]:
        """What the file is written to. It is there when the block ends, unless that raised."""

    def reading(self, name: str) -> pa.NativeFile:
        """What the file is read from; the caller closes it. Raises LedgerNotFound."""

    def delete(self, name: str) -> None:
        """Delete a file, and what is left of an attempt to write it. It need not be there."""

    def names(self, folder: str) -> list[str]:
        """The files in a folder and below it."""
