"""ZooKeeper's persistent recursive watch, of which kazoo knows nothing: its request, its events."""

import struct
from collections.abc import Callable
from typing import Any, ClassVar, Final

from kazoo.protocol.states import WatchedEvent

from magnetar.late_dataclass import dataclass

_PERSISTENT_RECURSIVE: Final = 1


@dataclass(frozen=True)
class AddWatch:
    """ZooKeeper's request of that name (3.6 and later), in the form of kazoo's."""

    type: ClassVar[int] = 106
    path: str

    def serialize(self) -> bytes:
        path = self.path.encode()
        return struct.pack("!i", len(path)) + path + struct.pack("!i", _PERSISTENT_RECURSIVE)

    @classmethod
    def deserialize(cls, _data: bytes, _offset: int) -> None:
        """There is nothing in the answer."""


class EveryPath(dict[str, Any]):
    """In the place of kazoo's watchers by path: one for all, which stays."""

    def __init__(self, watcher: Callable[[WatchedEvent], None]) -> None:
        super().__init__()
        self._watcher = watcher

    def pop(self, _path: str, _default: object = None) -> Any:
        return [self._watcher]

    def values(self) -> Any:
        return ()  # None of them is told that the connection is lost.
