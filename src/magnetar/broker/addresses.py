"""Where a broker listens: the sockets of its ports, and the host name that it tells clients."""

import logging
import socket
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from errno import EACCES, EADDRINUSE
from ipaddress import ip_address
from typing import Final, NamedTuple

from magnetar.errors import InvalidValue
from magnetar.model.broker_address import BrokerAddress, is_loopback
from magnetar.rest.listener import Listener

from .settings.server import ServerSettings
from .settings.tls import TlsSettings

log = logging.getLogger(__name__)
BACKLOG: Final = 1024  # Connections the kernel queues while the broker is busy.
BINARY_PORT: Final = "--port, brokerServicePort"
WEB_PORT: Final = "--http-port, webServicePort"


def listen(host: str, port: int, setting: str = BINARY_PORT) -> socket.socket:
    """A bound socket, not yet taking connections. Raises InvalidValue with the remedy.

    ``setting`` is what an operator changes to have another port.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small frames at once (TCP_NODELAY) only where the protocol is said to be TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setblocking(False)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, UnicodeError) as error:
        listener.close()
        why = getattr(error, "strerror", None) or error
        remedy = _remedy(getattr(error, "errno", None), setting)
        raise InvalidValue(f"cannot listen on {host}:{port}: {why}. {remedy}") from error
    return listener


def _remedy(code: int | None, setting: str) -> str:
    if code == EADDRINUSE:
        return f"Stop what uses the port, or choose another ({setting}; 0 picks a free one)"
    if code == EACCES:
        return f"Choose a port from 1024 on ({setting}; 0 picks a free one)"
    return "Give an address of this machine (--host, bindAddress; 0.0.0.0 for all it has)"


def warn_if_open(host: str, setting: str) -> None:
    """Say so where functions are taken from other machines: nothing asks who sends them."""
    if not is_loopback(host):
        log.warning(
            "functions.open %s is %s: whoever reaches it runs programs on this machine, without a "
            "password; let only those reach it who may, or listen on 127.0.0.1",
            setting,
            host,
        )


def address_of(
    server: ServerSettings,
    port: int | None,
    web_port: int | None,
    *,
    port_tls: int | None = None,
    web_port_tls: int | None = None,
) -> BrokerAddress:
    """What clients are told: the advertised address, or else one that they are likely to reach."""
    return BrokerAddress.of(
        server.advertised_address or _likely_host(server.bind_address),
        port,
        web_port,
        port_tls=port_tls,
        web_port_tls=web_port_tls,
    )


def address_at(server: ServerSettings, listeners: "Listeners") -> BrokerAddress:
    """What clients are told of some ports."""
    return address_of(
        server,
        port_of(listeners.binary, tls=False),
        port_of(listeners.web, tls=False),
        port_tls=port_of(listeners.binary, tls=True),
        web_port_tls=port_of(listeners.web, tls=True),
    )


def keeps_clients(server: ServerSettings, address: BrokerAddress) -> bool:
    """Whether clients go on with the address they know: this one may not lead here for them."""
    return is_loopback(address.host) or not server.advertised_address


def _likely_host(bind_address: str) -> str:
    if bind_address == "127.0.0.1":
        return "localhost"
    return host_name() if _is_every_address(bind_address) else bind_address


def host_name() -> str:
    """The name of this machine, fully qualified where that is known; Pulsar advertises it too."""
    for name in (socket.getfqdn(), socket.gethostname()):
        if name and not is_loopback(name):
            return name
    log.warning(
        "server.no_host_name this machine calls itself localhost, so that is what HTTP lookups "
        "answer: set advertisedAddress (--advertised-address)"
    )
    return "localhost"


def _is_every_address(host: str) -> bool:
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False


class Listeners(NamedTuple):
    """Those of the binary protocol and those of HTTP, plain ones first."""

    binary: Sequence[Listener]
    web: Sequence[Listener]


def open_listeners(
    server: ServerSettings,
    settings: TlsSettings,
    tls: ssl.SSLContext | None,
    stack: AsyncExitStack | ExitStack,
) -> Listeners:
    """Bind every port that is set; ``stack`` closes them. Raises InvalidValue."""

    def bound(port: int | None, setting: str, context: ssl.SSLContext | None) -> list[Listener]:
        if port is None or port < 0:
            return []
        found = listen(server.bind_address, port, setting)
        stack.callback(found.close)
        return [Listener(found, context)]

    binary = bound(server.broker_port, BINARY_PORT, None)
    binary += bound(settings.port, "brokerServicePortTls", tls)
    if not binary:
        raise InvalidValue(
            "brokerServicePort=-1 and no brokerServicePortTls: clients could not connect, set one"
        )
    web = bound(server.web_port, WEB_PORT, None)
    web += bound(settings.web_port, "webServicePortTls", tls)
    return Listeners(binary, web)


def port_of(listeners: Sequence[Listener], *, tls: bool) -> int | None:
    """The port with or without TLS; None where there is none."""
    return next((each.port for each in listeners if (each.tls is not None) is tls), None)
