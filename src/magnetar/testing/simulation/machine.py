"""What programs get of a machine: chance, sockets, kazoo, processes. For a run, all simulated.

These are the doors by which something could come in that does not follow from the seed.
"""

import random as chance
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from random import Random
from typing import Any
from unittest.mock import patch

from .bucket import Bucket
from .processes import process_of
from .zookeeper_client import SimulatedKazoo


class ListeningSocket:
    """What a socket that listens says of itself."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)

    def getsockname(self) -> tuple[str, int]:
        return self._address

    def close(self) -> None:
        """The network knows who listens."""


def listen(_host: str, port: int, _setting: str = "") -> Any:
    """A socket of the process that asks, in the place of one of the operating system."""
    process = process_of(copy_context())
    assert process is not None, "only processes of a simulation listen"
    return ListeningSocket(process.name, port)


@contextmanager
def simulated_machine(random: Random, bucket: Bucket) -> Iterator[None]:
    """Whatever is drawn in the block comes from ``random``; ledgers are offloaded to ``bucket``."""
    with ExitStack() as stack:
        for name, value in {
            "os.urandom": random.randbytes,
            "random._urandom": random.randbytes,  # Of ``secrets`` and SystemRandom.
            "magnetar.broker.addresses.listen": listen,
            "magnetar.broker.assemble.managed_ledgers.HistoryOffloader": bucket.offloader,
            "magnetar.storage.metadata.zookeeper.KazooClient": SimulatedKazoo,
        }.items():
            stack.enter_context(patch(name, value))
        before = chance.getstate()
        stack.callback(chance.setstate, before)
        chance.seed(random.getrandbits(64))
        yield
