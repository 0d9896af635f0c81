"""Processes that share a metadata file tell each other that it has changed, by datagrams.

Each looks at the file by itself from time to time, so that nothing depends on a datagram that is
lost; with one it looks at once.
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from pathlib import Path


class Bells:
    """The bell of one process, and where those of the others are. Used on the event loop."""

    def __init__(self, own: socket.socket, others: Sequence[Path]) -> None:
        """``own`` is a bound Unix socket of datagrams, which does not block."""
        self._own = own
        self._others = [str(each) for each in others]

    def ring(self) -> None:
        """Have the others look. One that has been rung often and does not look is left alone."""
        for other in self._others:
            with contextlib.suppress(OSError):
                self._own.sendto(b"!", other)

    def listen(self, heard: Callable[[], object]) -> None:
        """Call ``heard`` when others have rung, once for all of them."""

        def read() -> None:
            with contextlib.suppress(OSError):
                while self._own.recv(1):
                    pass
            heard()

        asyncio.get_running_loop().add_reader(self._own, read)

    def close(self) -> None:
        """Listen no more. The socket is its owner's."""
        asyncio.get_running_loop().remove_reader(self._own)
