"""Two connections as one: what either side sends is written to the other, unparsed.

No task runs and nothing is copied but what the event loop read. A side that does not read fills
the buffer of its transport; then the other side is not read until there is room again, so that the
kernel holds it back.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from .counts import ProxyCounts

LINGER_S: Final = 10.0
"""So long may a side take to read what the other one sent before it closed."""


class Splice:
    """A client's connection and the one to its broker."""

    __slots__ = (
        "_broker",
        "_client",
        "_ended",
        "_halves",
        "broker_heard",
        "counts",
        "when_ended",
    )

    def __init__(
        self,
        client: asyncio.Transport,
        broker: asyncio.Transport,
        counts: ProxyCounts,
        when_ended: Callable[["Splice"], None],
    ) -> None:
        self._client = client
        self._broker = broker
        self.counts = counts
        self.when_ended = when_ended
        self.broker_heard = True
        self._ended = False
        self._halves: tuple[FromClient, ...] = ()

    def begin(self, to_client: bytes, to_broker: bytes) -> None:
        """Pass everything on from now on, beginning with what was read already."""
        self._halves = FromClient(self, self._broker), FromBroker(self, self._client)
        self._client.set_protocol(self._halves[0])
        self._broker.set_protocol(self._halves[1])
        self._client.write(to_client)
        if to_broker:
            self._broker.write(to_broker)
        self._client.resume_reading()
        self._broker.resume_reading()

    def end(self) -> None:
        """Close both sides, once what was read is written."""
        if self._ended:
            return
        self._ended = True
        for half in self._halves:
            half.drop()  # What still comes has nowhere to go.
        loop = asyncio.get_running_loop()
        for side in (self._client, self._broker):
            side.close()
            loop.call_later(LINGER_S, side.abort)
        self.when_ended(self)


class FromClient(asyncio.Protocol):
    """What the client sends goes to the broker."""

    __slots__ = ("_counts", "_other", "_splice", "_write")

    def __init__(self, splice: Splice, other: asyncio.Transport) -> None:
        self._splice = splice
        self._counts = splice.counts
        self._other = other
        self._write: Callable[[bytes], None] = other.write

    def drop(self) -> None:
        """Write nothing more."""
        self._write = _ignore

    def data_received(self, data: bytes) -> None:
        counts = self._counts
        counts.reads += 1
        counts.bytes += len(data)
        self._write(data)

    def pause_writing(self) -> None:
        """Who is written to does not read: then the other side is not read, either."""
        self._other.pause_reading()

    def resume_writing(self) -> None:
        self._other.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._splice.end()


def _ignore(_data: bytes) -> None:
    """Stands for writing to a side that is closed."""


class FromBroker(FromClient):
    """What the broker sends goes to the client, and shows that the broker is there."""

    __slots__ = ()

    def data_received(self, data: bytes) -> None:
        self._splice.broker_heard = True
        counts = self._counts
        counts.reads += 1
        counts.bytes += len(data)
        self._write(data)
