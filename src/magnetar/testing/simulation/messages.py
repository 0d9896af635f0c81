"""What the models of ZooKeeper's servers and of its client tell each other: values, by pickle."""

import asyncio
import pickle
from collections.abc import Callable
from typing import Any, Final, cast

_SIZE: Final = 4


class Messages(asyncio.Protocol):
    """A connection that carries tuples."""

    def __init__(
        self, taken: Callable[["Messages", Any], None], lost: Callable[["Messages"], None]
    ) -> None:
        self._taken = taken
        self._lost = lost
        self._arrived = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    @property
    def peer(self) -> str:
        """The host at the other end; empty where there is none any more."""
        name = None if self._transport is None else self._transport.get_extra_info("peername")
        return name[0] if name else ""

    def send(self, *message: Any) -> None:
        data = pickle.dumps(message)
        if self._transport is not None:
            self._transport.write(len(data).to_bytes(_SIZE) + data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        """Close it when all is sent."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        while len(self._arrived) >= _SIZE:
            end = _SIZE + int.from_bytes(self._arrived[:_SIZE])
            if len(self._arrived) < end:
                return
            message, self._arrived = self._arrived[_SIZE:end], self._arrived[end:]
            self._taken(self, pickle.loads(message))  # noqa: S301 - both ends are ours

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._lost(self)
