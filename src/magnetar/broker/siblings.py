"""Several processes that serve one data folder, each a broker of one cluster: siblings.

All take connections at the ports that are set, whichever of them the system gives one to. Each has
ports of its own as well, which lookups tell clients. Whoever starts them opens all sockets and
keeps them, so that a connection to a process that is being replaced waits for the next one.
"""

import os
import socket
import ssl
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from magnetar.late_dataclass import dataclass
from magnetar.rest.listener import Listener

from .addresses import Listeners, open_listeners
from .config import Config
from .settings.server import own_port

BUNDLES: Final = 4
"""So many bundles for each process have the namespaces of a new folder, as few are not shared out
evenly."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """Which of them a process is, and what it was given."""

    number: int
    count: int
    own: Listeners
    shared: Listeners
    logs: Sequence[Path]
    """Where each is asked about the ledgers in its logs."""
    log_listener: socket.socket
    """Where this one is."""
    bells: Sequence[Path]
    """Where each is told that the metadata have changed."""
    bell: socket.socket
    """Where this one is."""

    def listeners(self, tls: ssl.SSLContext | None) -> Listeners:
        """All that it takes connections at, its own first."""

        def ready(listeners: Sequence[Listener]) -> list[Listener]:
            return [each._replace(tls=each.tls and tls) for each in listeners]

        return Listeners(
            ready([*self.own.binary, *self.shared.binary]),
            ready([*self.own.web, *self.shared.web]),
        )


def cores() -> int:
    """Those that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def own_listeners(
    config: Config, number: int, tls: ssl.SSLContext | None, stack: AsyncExitStack | ExitStack
) -> Listeners:
    """Bind the ports of a process's own. Raises InvalidValue."""

    def port(shared: int) -> int:
        return own_port(shared, number) if shared > 0 else shared

    server, settings = config.server, config.tls
    server = replace(server, broker_port=port(server.broker_port), web_port=port(server.web_port))
    settings = replace(
        settings,
        port=None if settings.port is None else port(settings.port),
        web_port=None if settings.web_port is None else port(settings.web_port),
    )
    return open_listeners(server, settings, tls, stack)
