"""A metadata store in memory: for tests, and for ``standalone --memory``."""

import asyncio
from collections.abc import Callable

from magnetar.errors import VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Record, Watch


class MemoryTree:
    """Records shared by the stores that are opened on it, as sessions share a server."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.watches: list[MemoryWatch] = []

    def changed(self, path: str) -> None:
        for watch in self.watches:
            watch.tell(path)


class MemoryWatch:
    """A watch on everything at or below a prefix."""

    def __init__(self, tree: MemoryTree, prefix: str, changed: Callable[[str], None]) -> None:
        self._tree = tree
        self._prefix = prefix
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        tree.watches.append(self)

    def tell(self, path: str) -> None:
        if path == self._prefix or path.startswith(self._prefix.rstrip("/") + "/"):
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
        self._ephemeral: set[str] = set()
        self._watches: list[MemoryWatch] = []

    async def get(self, path: str) -> Record | None:
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
        self._tree.records[path] = Record(value, version)
        if ephemeral:
            self._ephemeral.add(path)
        self._tree.changed(path)
        return version

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        self._check(path, expected_version)
        self._ephemeral.discard(path)
        if self._tree.records.pop(path, None) is not None:
            self._tree.changed(path)

    async def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        below = (p[len(prefix) :] for p in self._tree.records if p.startswith(prefix))
        return sorted({rest.partition("/")[0] for rest in below})

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        watch = MemoryWatch(self._tree, prefix, changed)
        self._watches.append(watch)
        return watch

    async def close(self) -> None:
        for watch in self._watches:
            watch.cancel()
        for path in list(self._ephemeral):
            await self.delete(path)

    def _check(self, path: str, expected_version: int | None) -> int:
        """The version now, ABSENT where there is no record. Raises VersionMismatch."""
        record = self._tree.records.get(path)
        version = ABSENT if record is None else record.version
        if expected_version is not None and expected_version != version:
            raise VersionMismatch(f"{path} is at version {version}, not {expected_version}")
        return version
