"""A running broker: start, drain, stop."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable

from magnetar.clock import Clock
from magnetar.loop_iteration import LoopIteration
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.counts import ConnectionCounts
from magnetar.model.histogram import Histogram
from magnetar.rest.listener import accept_no_more
from magnetar.tasks import Tasks

from .addresses import BACKLOG, Listeners, port_of
from .cluster.topic_registry import TopicRegistry
from .config import Config
from .connection import SHARED_BUFFER_BYTES, Connection, ConnectionContext
from .handlers.table import CommandTable
from .housekeeping import KeepAliveSweep, chores, look_after_topics
from .outbox import OutboxBudget
from .pending_publishes import PublishBuffer
from .server_tls import HANDSHAKE_TIMEOUT_S
from .session import Session
from .settings.setting import MIB
from .shared_frames import SharedFrames

log = logging.getLogger(__name__)


class Broker:
    """Takes connections for the topics of one registry."""

    def __init__(
        self,
        config: Config,
        *,
        listeners: Listeners,
        address: BrokerAddress,
        registry: TopicRegistry,
        table: CommandTable,
        clock: Clock,
        iteration: LoopIteration,
        tasks: Tasks,
        new_session: Callable[..., Session] = Session,
    ) -> None:
        """``tasks`` run what connections ask for; ``stop`` ends them."""
        self.address = address
        self.leave: Callable[[], Awaitable[None]] = _nothing
        """Hands what is served here to other brokers."""
        self.port = listeners.binary[0].port  # With TLS where there is none without.
        self.port_tls = port_of(listeners.binary, tls=True)
        self.web_port = port_of(listeners.web, tls=False)
        self.web_port_tls = port_of(listeners.web, tls=True)
        self.registry = registry
        self.reload: Callable[[Config], Awaitable[None]] | None = None
        """Takes from a configuration what can change while the broker runs."""
        self._config = config
        self._listeners = listeners.binary
        self._table = table
        self._clock = clock
        self._iteration = iteration
        self._tasks = tasks
        self._new_session = new_session
        self.connections = ConnectionCounts()
        self._connections = KeepAliveSweep(config.connections.keep_alive_interval_s, clock)
        self.outbox_budget = OutboxBudget(config.connections.delivery_buffer_mb_max * MIB)
        self.backlog_checks = Histogram()  # How long each check of all topics took.
        self.publish_buffer = PublishBuffer(config.connections.publish_buffer_mb_max * MIB)
        self.connections_per_ip: Counter[str] = Counter()  # Only where there is a limit.
        self._all_closed = asyncio.Event()
        self._all_closed.set()
        self._servers: list[asyncio.Server] = []

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    @property
    def throttled_count(self) -> int:
        """Connections that are not read, because their clients publish or ask too much."""
        return sum(connection.throttled for connection in self._connections.members())

    def sessions(self) -> list[Session]:
        """Of the clients that are connected."""
        return [connection.session for connection in self._connections.members()]

    async def start(self) -> None:
        """Take connections, and start keep-alive, trimming and compaction."""
        loop = asyncio.get_running_loop()
        context = ConnectionContext(
            table=self._table,
            settings=self._config.connections,
            publish_buffer=self.publish_buffer,
            outbox_budget=self.outbox_budget,
            shared_frames=SharedFrames(loop),
            clock=self._clock,
            iteration=self._iteration,
            tasks=self._tasks,
            buffer=memoryview(bytearray(SHARED_BUFFER_BYTES)),
            opened=self._opened,
            closed=self._closed,
            new_session=self._new_session,
        )
        for each in self._listeners:
            server = await loop.create_server(
                lambda: Connection(context, loop),
                sock=each.socket,
                backlog=BACKLOG,
                ssl=each.tls,
                ssl_handshake_timeout=None if each.tls is None else HANDSHAKE_TIMEOUT_S,
            )
            self._servers.append(server)
        self._tasks.spawn("keep-alive", self._connections.run())
        config = self._config
        for chore in chores(
            config.housekeeping,
            self.registry,
            retention_check_s=config.storage.retention_check_s,
            inactive_check_s=config.policies.inactive_check_s,
            backlog_checks=self.backlog_checks,
        ):
            work = look_after_topics(self.registry, chore, self._clock)
            self._tasks.spawn(f"topics: {chore.what}", work)

    async def stop(self) -> None:
        """Hand over what others can serve, take no more connections, close every topic, then every
        connection.

        Clients are told that their producers and consumers are closed, and everything they sent
        before is stored and answered.
        """
        timeout_s = self._config.server.shutdown_timeout_ms / 1000
        await self._in_time(self.leave, timeout_s, "bundles")
        await accept_no_more(self._listeners)
        for server in self._servers:
            server.close()
        await self._in_time(self.registry.close, timeout_s, "topics")
        for connection in self._connections.members():
            connection.hang_up("the broker stops")
        await self._in_time(self._all_closed.wait, 1.0, "connections")
        for connection in self._connections.members():
            connection.cut_off("the broker stops")
        await self._tasks.close()

    def _opened(self, connection: Connection) -> bool:
        """Count a connection. False: there are too many, in all or from its address."""
        settings = self._config.connections
        room = not settings.connections_max or len(self._connections) < settings.connections_max
        self._connections.add(connection)
        self.connections.opened += 1
        self._all_closed.clear()
        if settings.connections_per_ip_max:
            host = _host(connection)
            self.connections_per_ip[host] += 1
            room = room and self.connections_per_ip[host] <= settings.connections_per_ip_max
        self.connections.refused += not room
        return room

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self.connections.closed += 1
        if self._config.connections.connections_per_ip_max:
            host = _host(connection)
            self.connections_per_ip[host] -= 1
            if not self.connections_per_ip[host]:
                del self.connections_per_ip[host]
        if not len(self._connections):
            self._all_closed.set()

    async def _in_time(
        self, work: Callable[[], Awaitable[object]], timeout_s: float, what: str
    ) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await work()
        except TimeoutError:
            log.warning("broker.stop_timed_out waiting_for=%s after_s=%g", what, timeout_s)


def _host(connection: Connection) -> str:
    return connection.address.rpartition(":")[0]


async def _nothing() -> None: ...
