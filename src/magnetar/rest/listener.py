"""A socket that takes connections, with or without TLS."""

import socket
import ssl
from typing import NamedTuple


class Listener(NamedTuple):
    """A socket that takes connections."""

    socket: socket.socket
    tls: ssl.SSLContext | None = None

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port
