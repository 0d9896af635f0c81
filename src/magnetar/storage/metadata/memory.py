"""A metadata store in memory: for tests, and for ``standalone --memory``."""

from bisect import bisect_left, insort
from collections.abc import Callable
from dataclasses import replace

from magnetar.clock import SystemClock
from magnetar.errors import StorageError, VersionMismatch
from magnetar.storage.metadata.store import ABSENT, Owner, Record, SessionState, Watch
from magnetar.storage.metadata.watches import SessionWatches, Watches


class MemoryTree:
    """Records shared by the stores that are opened on it, as sessions share a server."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.owners: dict[str, MemoryMetadataStore] = {}  # The owners of ephemeral records.
        self.watches: list[Watches] = []  # Those of each session.
        self._paths: list[str] = []  # Invariant: the keys of ``records``, ascending.

    def write(self, path: str, record: Record, owner: "MemoryMetadataStore | None") -> None:
        if path not in self.records:
            insort(self._paths, path)
        self.records[path] = record
        self.owners.pop(path, None)
        if owner is not None:
            self.owners[path] = owner
        self._notify(path)

    def remove(self, path: str) -> None:
        if self.records.pop(path, None) is not None:
            del self._paths[bisect_left(self._paths, path)]
            self.owners.pop(path, None)
            self._notify(path)

    def children(self, path: str) -> list[str]:
        prefix = path.rstrip("/") + "/"
        # "0" follows "/" in the order of characters, so the range has all that is below.
        first, stop = (bisect_left(self._paths, end) for end in (prefix, prefix[:-1] + "0"))
        names = {each[len(prefix) :].partition("/")[0] for each in self._paths[first:stop]}
        return sorted(names)

    def _notify(self, path: str) -> None:
        for watches in self.watches:
            watches.notify(path)


class MemoryMetadataStore:
    """One session on a tree of its own, or on one shared with other sessions."""

    def __init__(self, tree: MemoryTree | None = None) -> None:
        self._tree = tree or MemoryTree()
        self._watches = Watches()
        self._session_watches = SessionWatches()
        self._tree.watches.append(self._watches)
        self._closed = False

    async def get(self, path: str) -> Record | None:
        self._check_open()
        record, owner = self._tree.records.get(path), self._tree.owners.get(path)
        if record is None or owner is None:
            return record
        return replace(record, owner=Owner.OURS if owner is self else Owner.OTHER)

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
        if ephemeral:
            await SystemClock().sleep(0)  # The watches are told of what was put before.
        return version

    async def delete(self, path: str, *, expected_version: int | None = None) -> None:
        self._check(path, expected_version)
        self._tree.remove(path)

    async def children(self, path: str) -> list[str]:
        self._check_open()
        return self._tree.children(path)

    def watch(self, prefix: str, changed: Callable[[str], None]) -> Watch:
        self._check_open()
        return self._watches.begin(prefix, changed)

    def watch_session(self, changed: Callable[[SessionState], None]) -> Watch:
        self._check_open()
        return self._session_watches.begin(changed)

    def expire(self) -> None:
        """End the session as a server does that did not hear of it for long."""
        self._session_watches.notify(SessionState.LOST)
        self._remove_owned()

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._watches.clear()
        self._tree.watches.remove(self._watches)
        self._remove_owned()

    def _remove_owned(self) -> None:
        for path in [path for path, owner in self._tree.owners.items() if owner is self]:
            self._tree.remove(path)

    def _check(self, path: str, expected_version: int | None) -> int:
        """Return the version, ABSENT where there is no record. Raises VersionMismatch."""
        self._check_open()
        record = self._tree.records.get(path)
        version = ABSENT if record is None else record.version
        if expected_version is not None and expected_version != version:
            raise VersionMismatch(f"{path} is at version {version}, not {expected_version}")
        return version

    def _check_open(self) -> None:
        if self._closed:
            raise StorageError("the metadata store is closed")
