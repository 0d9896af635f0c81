"""The connections of a client: opened when they are needed, and shared by all."""

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final

from magnetar.client.config import ClientConfig
from magnetar.clock import Clock
from magnetar.errors import AlreadyClosed, ConnectionLost, MagnetarError
from magnetar.tasks import Tasks

from .cluster import Cluster
from .connection import READ_SIZE, Connection
from .endpoint import Endpoint

log = logging.getLogger(__name__)

_Key = tuple[Cluster, Endpoint, int]

LOST_MAX: Final = 1_000  # Brokers that are gone, and of which it is said when they are back.


class ConnectionPool:
    """Returns open connections. Callers that ask for the same one wait for one attempt."""

    cluster: Cluster  # The one that is connected to.

    def __init__(self, config: ClientConfig, cluster: Cluster, clock: Clock) -> None:
        self.cluster = cluster
        self._config = config
        self._clock = clock
        self._tasks = Tasks("client.pool")
        self._opening: dict[_Key, asyncio.Future[Connection]] = {}
        self._open: dict[_Key, Connection] = {}
        self._watch: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._several = False
        self._went_over = asyncio.Event()  # To another cluster.
        self._turn = itertools.count()
        self._request_ids = itertools.count(1)
        self._read_buffer = memoryview(bytearray(READ_SIZE))
        self._lost: dict[str, float] = {}  # Since when brokers are gone, by address.
        self._closed = False

    def watched(self, watch: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Have ``watch`` choose the cluster, from the first connection on."""
        self._watch = watch
        self._several = True

    async def connect(self, endpoint: Endpoint, cluster: Cluster | None = None) -> Connection:
        """Return an open connection, to a broker of the current cluster if no other is given.

        Raises as ``Connection.open``.
        """
        turn = next(self._turn) % self._config.connections_per_broker
        key = (cluster or self.cluster, endpoint, turn)
        connection = self._open.get(key)
        if connection is not None and not connection.closed:
            connection.keep()
            return connection
        if self._closed:
            raise AlreadyClosed("the client is closed")
        watch, self._watch = self._watch, None
        if watch is not None:
            self._tasks.spawn("failover", watch())
        opening = self._opening.get(key)
        if opening is None:
            opening = asyncio.get_running_loop().create_future()
            opening.add_done_callback(_seen)
            self._opening[key] = opening
            self._tasks.spawn(f"connect {endpoint.physical}", self._connect(key, opening))
        # One caller's cancellation must not end the attempt the others wait for.
        return await asyncio.shield(opening)

    def use(self, cluster: Cluster) -> None:
        """Go over to another cluster: who is attached to the one before comes along."""
        self.cluster = cluster
        for (of, _, _), connection in self._open.items():
            if of is not cluster:
                connection.leave(ConnectionLost(f"the client went over to {cluster.url}"))
        # Who was attached there is told first, and waits for it by then.
        asyncio.get_running_loop().call_soon(self._tell)

    def _tell(self) -> None:
        went_over, self._went_over = self._went_over, asyncio.Event()
        went_over.set()

    async def pause(self, seconds: float, clock: Clock) -> None:
        """Wait so long, or until there is another cluster, which may answer at once."""
        if self._several:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._went_over.wait()
        else:
            await clock.sleep(seconds)

    async def close(self) -> None:
        """Close every connection, and those that are being opened."""
        self._closed = True
        await self._tasks.close()
        connections = [connection for connection in self._open.values() if not connection.closed]
        self._open.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _connect(self, key: _Key, opening: asyncio.Future[Connection]) -> None:
        cluster, endpoint, _ = key
        address = endpoint.physical
        try:
            connection = Connection(
                endpoint,
                keep_alive_interval_s=self._config.keep_alive_interval_s,
                read_buffer=self._read_buffer,
                next_request_id=self._request_ids.__next__,
                clock=self._clock,
                idle_max_s=self._config.connection_idle_max_s,
                tls=cluster.tls,
                credentials=cluster.credentials,
            )
            await connection.open(self._config.connection_timeout_s)
            self._opened(address)
            connection.on_lost = partial(self._gone, address)
            self._open = {k: c for k, c in self._open.items() if not c.closed}
            self._open[key] = connection
            opening.set_result(connection)
        except MagnetarError as error:
            opening.set_exception(error)
        finally:
            self._opening.pop(key, None)
            if not opening.done():
                opening.set_exception(AlreadyClosed("the client was closed while it connected"))

    def _opened(self, address: str) -> None:
        since = self._lost.pop(address, None)
        if since is None:
            log.info("connection.opened broker=%s", address)
        else:
            gone_s = self._clock.now() - since
            log.warning("connection.back broker=%s after_s=%.1f", address, gone_s)

    def _gone(self, address: str, error: MagnetarError) -> None:
        """Say it once, however many connections there were, until it is back."""
        if address in self._lost:
            return
        log.warning("connection.lost broker=%s error=%s", address, error)
        if len(self._lost) >= LOST_MAX:
            del self._lost[next(iter(self._lost))]
        self._lost[address] = self._clock.now()


def _seen(opening: asyncio.Future[Connection]) -> None:
    """Retrieve the failure: callers raise it, unless all of them were cancelled."""
    if not opening.cancelled():
        opening.exception()
