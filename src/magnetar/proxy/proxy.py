"""A proxy of all its parts, from its settings until it is closed."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from magnetar.auth.authentication import Authentication
from magnetar.auth.http import HttpSignIn
from magnetar.auth.proxies import ProxyRules
from magnetar.broker.addresses import BACKLOG, listen
from magnetar.broker.authorization.providers import authentication_of
from magnetar.broker.config import Config
from magnetar.broker.handlers.sign_in import SignIn
from magnetar.broker.server_tls import HANDSHAKE_TIMEOUT_S, ServerTls
from magnetar.client.authentication.plugins import authentication_of as client_authentication_of
from magnetar.client.config import ClientConfig
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.http_request import HttpRequests
from magnetar.client.connections.tls import Tls
from magnetar.client.service_url import ServiceUrl
from magnetar.clock import Clock, SystemClock
from magnetar.errors import InvalidValue
from magnetar.extras import check_cluster
from magnetar.rest.listener import Listener, accept_no_more
from magnetar.rest.router import Router
from magnetar.rest.server import AdminServer
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.tasks import Tasks

from .brokers import Brokers, keep_up, running
from .config import ProxyConfig
from .connection import ClientConnection, ConnectionContext
from .counts import ProxyCounts
from .lookups import Lookups
from .sni_routing import SniRouting
from .splice import Splice
from .targets import Targets
from .upstream import Upstream
from .web import WebServices, routes

log = logging.getLogger(__name__)

SWEEPS_PER_INTERVAL: Final = 10
REDIRECTS_MAX: Final = 5
WEB_ANSWER_MAX: Final = 1 << 30  # A package of functions that is downloaded may be large.
_SYSTEM_CLOCK: Final = SystemClock()


class Proxy:
    """The connections of a running proxy."""

    port: int | None = None
    port_tls: int | None = None
    web_port: int | None = None
    web_port_tls: int | None = None

    def __init__(self, config: ProxyConfig, brokers: Brokers, clock: Clock) -> None:
        self.counts = ProxyCounts()
        self.brokers = brokers
        self._config = config
        self._clock = clock
        self._asking: set[ClientConnection] = set()
        self._splices: set[Splice] = set()

    def opened(self, connection: ClientConnection) -> bool:
        """Take a place for a connection; False: there is none, and it closes."""
        self._asking.add(connection)
        return self.admits(connection.ip)

    def closed(self, connection: ClientConnection) -> None:
        """Its client is gone."""
        self._asking.discard(connection)
        self.left(connection.ip)

    def admits(self, ip: str) -> bool:
        """Count a connection from an address; False: it is one too many, and counts until left."""
        counts, limits = self.counts, self._config.limits
        counts.opened += 1
        counts.per_ip[ip] += 1
        too_many = 0 < limits.connections_max < counts.open
        too_many |= 0 < limits.connections_per_ip_max < counts.per_ip[ip]
        counts.refused += too_many
        return not too_many

    def left(self, ip: str) -> None:
        """A connection from an address is closed."""
        counts = self.counts
        counts.closed += 1
        counts.per_ip[ip] -= 1
        if not counts.per_ip[ip]:
            del counts.per_ip[ip]

    def passed_on(self, connection: ClientConnection, splice: Splice) -> None:
        """It is its broker's now."""
        self._asking.discard(connection)
        self._splices.add(splice)

    def spliced(self, splice: Splice) -> None:
        self._splices.add(splice)

    def splice_ended(self, splice: Splice) -> None:
        self._splices.discard(splice)

    async def keep_alive(self) -> None:
        """Ping who asks the proxy itself, and give up who is silent, for ever."""
        pause_s = self._config.server.keep_alive_interval_s / SWEEPS_PER_INTERVAL
        while True:
            await self._clock.sleep(pause_s)
            now = self._clock.now()
            for connection in [each for each in self._asking if each.due <= now]:
                connection.tick()

    async def end_silent(self) -> None:
        """Close what a broker has sent nothing on for too long, for ever: brokers ping."""
        timeout_s = self._config.brokers.read_timeout_ms / 1000
        while timeout_s:
            await self._clock.sleep(timeout_s)
            for splice in list(self._splices):
                if not splice.broker_heard:
                    log.warning("proxy.broker_silent for_s=%g", timeout_s)
                    splice.end()
                splice.broker_heard = False

    def close(self) -> None:
        """Close every connection: clients connect again, elsewhere or later."""
        for connection in list(self._asking):
            connection.hang_up("the proxy stops")
        for splice in list(self._splices):
            splice.end()


@asynccontextmanager
async def running_proxy(
    config: ProxyConfig, *, clock: Clock = _SYSTEM_CLOCK
) -> AsyncIterator[Proxy]:
    """A proxy that serves until the block ends. Raises InvalidValue, StorageError."""
    async with AsyncExitStack() as stack:
        server_tls = ServerTls(config.tls.of_server, clock) if config.tls.on else None
        context = None if server_tls is None else server_tls.context
        binary = _listeners(config, stack, context, web=False)
        web = _listeners(config, stack, context, web=True)
        if not binary:
            raise InvalidValue(
                "servicePort=-1 and no servicePortTls: clients could not connect, set one"
            )
        authentication = authentication_of(config.auth, clock)
        if authentication is not None:
            stack.push_async_callback(authentication.close)
        tasks = Tasks("proxy")
        stack.push_async_callback(tasks.close)
        brokers = await _brokers(config, clock, tasks, stack)
        proxy = Proxy(config, brokers, clock)
        client = _client_config(config)
        tls = config.tls.with_brokers
        lookups = Lookups(
            client,
            brokers,
            proxy.counts,
            clock,
            tls=tls,
            running_max=config.limits.lookups_max,
        )
        stack.push_async_callback(lookups.close)
        connections = ConnectionContext(
            upstream=Upstream(client, Targets.of(config.brokers), brokers, tls=tls),
            lookups=lookups,
            sign_in=_sign_in(config, authentication, clock, tasks),
            forwards=config.forward.credentials,
            keep_alive_interval_s=config.server.keep_alive_interval_s,
            counts=proxy.counts,
            clock=clock,
            tasks=tasks,
            opened=proxy.opened,
            closed=proxy.closed,
            spliced=proxy.passed_on,
            splice_ended=proxy.splice_ended,
        )
        if web:
            http_sign_in = None
            if authentication is not None:
                asks = config.auth.metrics
                http_sign_in = HttpSignIn(authentication, clock, ProxyRules(), metrics=asks)
            server = await _serve_web(proxy, config, client, web, http_sign_in)
            stack.push_async_callback(server.close)
        await _serve(proxy, config, binary, connections, stack)
        tasks.spawn("keep-alive", proxy.keep_alive())
        tasks.spawn("silent brokers", proxy.end_silent())
        if server_tls is not None:
            tasks.spawn("certificates", server_tls.keep_current())
        proxy.port, proxy.port_tls = _ports(binary)
        proxy.web_port, proxy.web_port_tls = _ports(web)
        yield proxy


async def _serve(
    proxy: Proxy,
    config: ProxyConfig,
    listeners: list[Listener],
    context: ConnectionContext,
    stack: AsyncExitStack,
) -> None:
    """Take connections of the binary protocol until the stack is closed."""
    loop = asyncio.get_running_loop()
    stack.callback(proxy.close)
    for each in listeners:
        if each.tls is not None and config.tls.sni:
            routing = SniRouting(
                each.socket,
                each.tls,
                proxy.brokers,
                make=lambda: ClientConnection(context),
                counts=proxy.counts,
                spliced=proxy.spliced,
                splice_ended=proxy.splice_ended,
                admits=proxy.admits,
                left=proxy.left,
                connect_timeout_s=config.brokers.connect_timeout_ms / 1000,
            )
            context.tasks.spawn("sni", routing.run())
            continue
        server = await loop.create_server(
            lambda: ClientConnection(context),
            sock=each.socket,
            backlog=BACKLOG,
            ssl=each.tls,
            ssl_handshake_timeout=None if each.tls is None else HANDSHAKE_TIMEOUT_S,
        )
        stack.callback(server.close)
        stack.push_async_callback(accept_no_more, [each])


async def _serve_web(
    proxy: Proxy,
    config: ProxyConfig,
    client: ClientConfig,
    listeners: list[Listener],
    sign_in: HttpSignIn | None,
) -> AdminServer:
    brokers, limits = proxy.brokers, config.limits
    requests = HttpRequests(
        Credentials(client.authentication),
        Tls(client) if config.tls.with_brokers else None,
        timeout_s=limits.web_timeout_ms / 1000,
        connection_timeout_s=client.connection_timeout_s,
        redirects=REDIRECTS_MAX,
        answer_bytes=WEB_ANSWER_MAX,
        is_broker=brokers.is_web,
    )
    given = config.brokers
    workers = given.worker_url_tls if config.tls.with_brokers else given.worker_url
    services = WebServices(
        brokers,
        _bases(workers),
        requests,
        proxy.counts,
        config.server.status_file,
        own_credentials=client.authentication is not None,
    )
    return await AdminServer.start(
        Router(routes(stats=config.server.stats), services),
        listeners,
        Tasks("web"),
        connections_max=limits.web_connections_max,
        body_bytes_max=limits.web_body_max,
        sign_in=sign_in,
        advertised=config.server.advertised_address,
    )


async def _brokers(
    config: ProxyConfig, clock: Clock, tasks: Tasks, stack: AsyncExitStack
) -> Brokers:
    """Those of the metadata store, which are kept up with, or the fixed ones."""
    tls, given = config.tls.with_brokers, config.brokers
    url = given.url_tls if tls else given.url
    if url:
        web = given.web_url_tls if tls else given.web_url
        return Brokers(ServiceUrl.parse(url).addresses, _bases(web), tls=tls)
    check_cluster()
    from magnetar.broker.assemble.cluster_stores import open_zookeeper  # noqa: PLC0415 - kazoo

    metadata = await open_zookeeper(Config(metadata=config.metadata))
    stack.push_async_callback(metadata.close)
    brokers, codec = Brokers(tls=tls), PulsarCodec()
    brokers.replace(await running(metadata, codec))
    tasks.spawn("brokers", keep_up(brokers, metadata, codec, clock))
    return brokers


def _bases(url: str) -> tuple[str, ...]:
    if not url:
        return ()
    parsed = ServiceUrl.parse(url)
    return tuple(f"{parsed.scheme}://{address}" for address in parsed.addresses)


def _client_config(config: ProxyConfig) -> ClientConfig:
    """Who the proxy is to brokers, and whom it trusts."""
    tls, auth = config.tls, config.auth
    said = auth.client_settings
    files = tls.client_trust, tls.client_certificate, tls.client_key
    trust, certificate, key = (str(file) if file and tls.with_brokers else None for file in files)
    return ClientConfig(
        # Not connected to: settings are of use here, and whether it is TLS.
        service_url="pulsar+ssl://localhost" if tls.with_brokers else "pulsar://localhost",
        authentication=client_authentication_of(said["authPluginClassName"], said["authParams"])
        if said
        else None,
        tls_trust_certs_file=trust,
        tls_certificate_file=certificate,
        tls_key_file=key,
        tls_verify_hostname=tls.verify_hostname,
        connection_timeout_s=config.brokers.connect_timeout_ms / 1000,
        keep_alive_interval_s=config.server.keep_alive_interval_s,
    )


def _sign_in(
    config: ProxyConfig, authentication: Authentication | None, clock: Clock, tasks: Tasks
) -> SignIn | None:
    if authentication is None:
        return None
    sign_in = SignIn(authentication, clock, proxies=ProxyRules())
    tasks.spawn("credentials", sign_in.keep_fresh(config.auth.refresh_check_s))
    return sign_in


def _listeners(
    config: ProxyConfig, stack: AsyncExitStack, tls: ssl.SSLContext | None, *, web: bool
) -> list[Listener]:
    """Bind the ports that are set, the plain one first; ``stack`` closes them."""
    server, secure = config.server, config.tls
    found = []
    for port, key, context in (
        (server.web_port, "webServicePort", None) if web else (server.port, "servicePort", None),
        (secure.web_port, "webServicePortTls", tls)
        if web
        else (secure.port, "servicePortTls", tls),
    ):
        if port is not None and port >= 0:
            bound = listen(server.bind_address, port, key)
            stack.callback(bound.close)
            found.append(Listener(bound, context))
    return found


def _ports(listeners: list[Listener]) -> tuple[int | None, int | None]:
    """The plain one and the one with TLS."""
    plain = next((each.port for each in listeners if each.tls is None), None)
    return plain, next((each.port for each in listeners if each.tls is not None), None)
