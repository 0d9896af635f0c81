"""Waits for the first connection, and starts then what serves it.

The HTTP library and its certificates are a quarter of what a broker's start takes, and some
brokers are asked nothing.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Protocol

from magnetar.rest.listener import Listener
from magnetar.tasks import Tasks


class Server(Protocol):
    """What listens, until it is closed."""

    async def close(self) -> None: ...


class FirstConnection:
    """A server that is started when somebody connects, who waits so long in the kernel's queue.

    The sockets are listening already, and are closed with it, or when it cannot be started;
    ``tasks`` are closed with it.
    """

    def __init__(
        self,
        listeners: Sequence[Listener],
        start: Callable[[], Coroutine[Any, Any, Server]],
        tasks: Tasks,
    ) -> None:
        self.port = listeners[0].port
        self._listeners = listeners
        self._start = start
        self._tasks = tasks
        self._server: asyncio.Task[Server] | None = None
        self._loop = asyncio.get_running_loop()
        for each in listeners:
            self._loop.add_reader(each.socket, self._connected)

    def _connected(self) -> None:
        for each in self._listeners:
            self._loop.remove_reader(each.socket)
        self._server = self._tasks.spawn("start", self._start())
        self._server.add_done_callback(self._refuse_if_failed)

    def _refuse_if_failed(self, server: asyncio.Task[Server]) -> None:
        if server.cancelled() or server.exception() is not None:  # It was logged why.
            self._close_sockets()

    async def close(self) -> None:
        """Close the sockets, and what was started."""
        if self._server is None:
            self._close_sockets()
        else:
            await asyncio.wait([self._server])
            if self._server.exception() is None:
                await self._server.result().close()
        await self._tasks.close()

    def _close_sockets(self) -> None:
        for each in self._listeners:
            if each.socket.fileno() >= 0:
                self._loop.remove_reader(each.socket)
                each.socket.close()
