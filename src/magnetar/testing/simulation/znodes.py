"""The znodes of a simulated ZooKeeper, with what they were before: servers may lag behind. Pure."""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from kazoo.exceptions import (
    BadVersionError,
    KazooException,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
)
from kazoo.protocol.states import EventType, ZnodeStat

KEPT: Final = 100
"""So many states of a znode are kept: a server lags behind by less."""


@dataclass(frozen=True, slots=True)
class Znode:
    """A znode at one time."""

    value: bytes
    stat: ZnodeStat
    children: tuple[str, ...] = ()


class Change(NamedTuple):
    """What a watch is told."""

    zxid: int
    kind: str
    path: str


class Operation(NamedTuple):
    """One write."""

    name: str
    path: str
    value: bytes = b""
    version: int = -1
    ephemeral: bool = False
    sequence: bool = False


@dataclass
class Znodes:
    """All znodes. A write is an operation, or several that happen together or not at all."""

    zxid: int = 0
    changes: list[Change] = field(default_factory=list)
    nodes: dict[str, Znode] = field(default_factory=dict)
    _before: dict[str, list[tuple[int, Znode | None]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def __post_init__(self) -> None:
        self.nodes["/"] = Znode(b"", _stat(0, 0, 0, b""))

    def read(self, path: str, zxid: int) -> Znode:
        """A znode as a server knows it that has seen all up to ``zxid``. Raises NoNodeError."""
        node = self.nodes.get(path)
        for changed, before in reversed(self._before.get(path, ())):
            if changed <= zxid:
                break
            node = before
        if node is None:
            raise NoNodeError
        return node

    def owned(self, session: int) -> list[str]:
        """The ephemeral znodes of a session."""
        return [path for path, node in self.nodes.items() if node.stat.ephemeralOwner == session]

    def write(self, operations: list[Operation], session: int, now_ms: int) -> list[Any]:
        """Raises KazooException, having changed nothing."""
        self.zxid += 1
        before: dict[str, Znode | None] = {}
        changes = len(self.changes)
        results: list[Any] = []
        try:
            for each in operations:
                results.append(self._write(each, session, now_ms, before))  # noqa: PERF401 - below
        except KazooException as error:
            for path, node in before.items():
                if node is None:
                    self.nodes.pop(path, None)
                else:
                    self.nodes[path] = node
            del self.changes[changes:]
            if len(operations) == 1:
                raise
            left = len(operations) - len(results) - 1
            done = [RolledBackError() for _ in results]
            return [*done, error, *(RuntimeInconsistency() for _ in range(left))]
        for path, node in before.items():
            kept = self._before[path]
            kept.append((self.zxid, node))
            del kept[:-KEPT]
        return results

    def _write(
        self, operation: Operation, session: int, now_ms: int, before: dict[str, Znode | None]
    ) -> Any:
        name, path, value = operation.name, operation.path, operation.value
        if name == "create":
            return self._create(operation, session, now_ms, before)
        node = self.nodes.get(path)
        if node is None:
            raise NoNodeError
        if operation.version not in {-1, node.stat.version}:
            raise BadVersionError
        if name == "set":
            stat = node.stat._replace(
                version=node.stat.version + 1,
                mzxid=self.zxid,
                mtime=now_ms,
                dataLength=len(value),
            )
            self._put(path, replace(node, value=value, stat=stat), before)
            self.changes.append(Change(self.zxid, EventType.CHANGED, path))
            return stat
        if node.children:
            raise NotEmptyError
        self._put(path, None, before)
        self._change_parent(path, before, without=True)
        self.changes.append(Change(self.zxid, EventType.DELETED, path))
        return True

    def _create(
        self, operation: Operation, session: int, now_ms: int, before: dict[str, Znode | None]
    ) -> str:
        path = operation.path
        parent = self.nodes.get(_parent(path))
        if parent is None:
            raise NoNodeError
        if parent.stat.ephemeralOwner:
            raise NoChildrenForEphemeralsError
        if operation.sequence:
            path = f"{path}{parent.stat.cversion:010}"
        if path in self.nodes:
            raise NodeExistsError
        owner = session if operation.ephemeral else 0
        self._put(
            path, Znode(operation.value, _stat(self.zxid, now_ms, owner, operation.value)), before
        )
        self._change_parent(path, before)
        self.changes.append(Change(self.zxid, EventType.CREATED, path))
        return path

    def _change_parent(
        self, path: str, before: dict[str, Znode | None], *, without: bool = False
    ) -> None:
        parent = _parent(path)
        node, name = self.nodes[parent], path.rpartition("/")[2]
        children = tuple(each for each in node.children if each != name)
        if not without:
            children += (name,)
        stat = node.stat._replace(
            cversion=node.stat.cversion + 1, pzxid=self.zxid, numChildren=len(children)
        )
        self._put(parent, replace(node, stat=stat, children=children), before)

    def _put(self, path: str, node: Znode | None, before: dict[str, Znode | None]) -> None:
        before.setdefault(path, self.nodes.get(path))
        if node is None:
            del self.nodes[path]
        else:
            self.nodes[path] = node


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _stat(zxid: int, now_ms: int, owner: int, value: bytes) -> ZnodeStat:
    return ZnodeStat(zxid, zxid, now_ms, now_ms, 0, 0, 0, owner, len(value), 0, zxid)
