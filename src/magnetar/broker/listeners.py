"""Where a broker listens: the sockets of its ports, each with or without TLS."""

import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import NamedTuple

from magnetar.errors import InvalidValue
from magnetar.rest.listener import Listener

from .addresses import BINARY_PORT, WEB_PORT, listen
from .settings.server import ServerSettings
from .settings.tls import TlsSettings


class Listeners(NamedTuple):
    """Those of the binary protocol and those of HTTP, plain ones first."""

    binary: Sequence[Listener]
    web: Sequence[Listener]


def open_listeners(
    server: ServerSettings, settings: TlsSettings, tls: ssl.SSLContext | None, stack: AsyncExitStack
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
