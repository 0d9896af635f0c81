"""Ports that a test may listen on, again and again, beside other tests."""

import fcntl
import os
import secrets
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

from magnetar.broker.settings.server import own_port
from magnetar.errors import NotReady

_PORTS: Final = range(12_000, 32_000)  # Below those that systems give to outgoing connections.


class _Taken:
    """The ports that processes of this user were given: each a locked byte of one file.

    The locks are of this process alone, and end with it.
    """

    def __init__(self) -> None:
        path = Path(tempfile.gettempdir()) / f"magnetar-ports-{os.getuid()}"
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC)
        self._pid = os.getpid()
        self._ours = set[int]()

    def take(self, port: int) -> bool:
        """Take a port, unless somebody has it: another process, or this one since earlier."""
        if self._pid != os.getpid():  # A fork has none of the locks.
            self._pid, self._ours = os.getpid(), set()
        if port in self._ours:
            return False
        try:
            fcntl.lockf(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
        except OSError:
            return False
        self._ours.add(port)
        return True


@cache
def _taken() -> _Taken:
    return _Taken()


def free_port(processes: int = 1) -> int:
    """A port of 127.0.0.1 that nobody listens on, and that nobody else will be given.

    A port that the system picks may be handed to any connection once its broker has ended, and
    then the broker cannot start again; so it is none of those. Nor does any other process get it
    from here while this one lives. Of several ``processes`` the ports of their own are free, too.
    Raises NotReady when none is found.
    """
    further = range(processes) if processes > 1 else ()
    for _ in range(100):
        port = secrets.choice(_PORTS)
        all_of_it = [port, *(own_port(port, number) for number in further)]
        if all(map(_taken().take, all_of_it)) and all(map(_is_free, all_of_it)):
            return port
    raise NotReady(
        f"no free port of 127.0.0.1 from {_PORTS[0]} to {_PORTS[-1]}: stop what uses them"
    )


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
