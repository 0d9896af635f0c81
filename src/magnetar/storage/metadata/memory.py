"""A metadata store in memory: for tests, and for ``standalone --memory``."""

import asyncio
from collections.abc import Callable

from magnetar.errors import StorageError, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Record, Watch


class MemoryTree:
    """Records shared by the stores that are opened on it, as sessions share a server."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.owners: dict[str, MemoryMetadataStore] = {}  # Of ephemeral records.
        self.watches: list[MemoryWatch] = []
        self._below: dict[str, dict[str, int]] = {}  # Path, name below it, records at or below.

    def write(self, path: str, record: Record, owner: "MemoryMetadataStore | None") -> None:
        if path not in self.records:
            self._count(path, 1)
        self.records[path] = record
        self.owners.pop(path, None)
        if owner is not None:
            self.owners[path] = owner
        self._changed(path)

    def remove(self, path: str) -> None:
        if self.records.pop(path, None) is not None:
            self.owners.pop(path, None)
            self._count(path, -1)
            self._changed(path)

    def children(self, path: str) -> list[str]:
        return sorted(self._below.get(path.rstrip("/"), ()))

    def _count(self, path: str, change: int) -> None:
        while path:
            path, _, name = path.rpartition("/")
            names = self._below.setdefault(path, {})
            names[name] = names.get(name, 0) + change
            if not names[name]:
                del names[name]
            if not names:
                del self._below[path]

    def _changed(self, path: str) -> None:
        for watch in self.watches:
            watch.tell(path)


class MemoryWatch:
    """A watch on everything at or below a prefix."""

    def __init__(self, tree: MemoryTree, prefix: str, changed: Callable[[str], None]) -> None:
        self._tree = tree
        self._prefix = prefix
        self._below = prefix.rstrip("/") + "/"
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        tree.watches.append(self)

    def tell(self, path: str) -> None:
        if path == self._prefix or path.startswith(self._below):
            self._loop.call_soon(self._report, path)

    def cancel(self) -> None:
        if self in self._tree.watches:
            self._tree.watches.remove(self)

    def _report(self, path: str) -> None:
        if self in self._tree.watches:
            self._changed(path)


class MemoryMetadataStore:
    """One session on a tree of its own, or on one shared with other sessions."""

    def __init__(self, tree: MemoryTree | None = None) -> None:
        self._tree = tree or MemoryTree()
        self._watches: list[MemoryWatch] = []
        self._closed = False

    async def get(self, path: str) -> Record | None:
        self._check_open()
        return self._tree.records.get(path)

    async def put(
        self,
        path: str,
        value: bytes,
        *,
        expected_version: int | None = None,
        ephemeral: bool = False,
    ) -> int:
        version = self._check(path, expected_version) + 1
        self._tree.write(path, Record(value, version), self if ephemeral else None)
        return version

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        self._check(path, expected_version)
        self._tree.remove(path)

    async def children(self, path: str) -> list[str]:
        self._check_open()
        return self._tree.children(path)

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        self._check_open()
        watch = MemoryWatch(self._tree, prefix, changed)
        self._watches.append(watch)
        return watch

    async def close(self) -> None:
        self._closed = True
        for watch in self._watches:
            watch.cancel()
        for path in [path for path, owner in self._tree.owners.items() if owner is self]:
            self._tree.remove(path)

    def _check(self, path: str, expected_version: int | None) -> int:
        """The version now, ABSENT where there is no record. Raises VersionMismatch."""
        self._check_open()
        record = self._tree.records.get(path)
        version = ABSENT if record is None else record.version
        if expected_version is not None and expected_version != version:
            raise VersionMismatch(f"{path} is at version {version}, not {expected_version}")
        return version

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the metadata store is closed")
