"""Bytes out: collected for an iteration of the loop, then written once.

A write costs more than a small frame does, so frames wait for its end and go together.
Topics ask ``writable`` before they deliver; answers to requests always get in, and a client that
asks on without reading them is not listened to any more.
"""

import asyncio
from collections.abc import Callable
from dataclasses import field
from typing import Final

from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration, Phase

from .read_pause import PauseReason, ReadPause

HIGH_WATER_BYTES: Final = 1024 * 1024  # Nothing is delivered while so much is unwritten.
LOW_WATER_BYTES: Final = 256 * 1024  # Deliveries go on when no more than that is left.
BACKED_UP_BYTES_MAX: Final = 32 * 1024 * 1024  # With as much unwritten the client is not read.
RESTRICTED_BYTES_MAX: Final = 64 * 1024  # So much more where the budget of all is used up.
_JOIN_SIZE_MAX: Final = 4096  # Below this mean size, one copy is cheaper than many buffers.
COUNTS_PER_BUDGET: Final = 8
"""The outboxes are looked through each time this part of the budget was written to them."""


@dataclass(slots=True, eq=False)
class Outbox:
    """The bytes that are on their way to one client."""

    transport: asyncio.WriteTransport
    loop: asyncio.AbstractEventLoop
    read_pause: ReadPause
    iteration: LoopIteration
    budget: "OutboxBudget"
    _pieces: list[bytes] = field(default_factory=list, init=False)
    _size: int = 0  # Invariant: the bytes in _pieces.
    _congested: bool = False  # The transport holds more than the high-water mark.
    _backed_up: bool = False
    _backed_up_bytes_max: int = BACKED_UP_BYTES_MAX  # It is less while it is restricted.
    _closed: bool = False
    # An ordered set.
    _waiting: dict[Callable[[], None], None] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)

    @property
    def writable(self) -> bool:
        """False while the client reads too slowly, or is gone."""
        return not self._congested and self._size < HIGH_WATER_BYTES and not self._closed

    @property
    def unwritten_bytes(self) -> int:
        """What the transport has not written yet."""
        return self.transport.get_write_buffer_size()

    def restrict(self, bytes_max: int) -> None:
        """Deliver nothing more until no more than a quarter of ``bytes_max`` is unwritten.

        Answers still get in, but a client that goes on asking is not listened to.
        """
        unwritten = self.unwritten_bytes
        if self._closed or unwritten <= bytes_max:
            return
        self._backed_up_bytes_max = min(self._backed_up_bytes_max, unwritten + RESTRICTED_BYTES_MAX)
        # The transport says at once that it is congested, if it did not say so before.
        self.transport.set_write_buffer_limits(high=bytes_max, low=bytes_max // 4)

    def when_writable(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when ``writable`` turns True."""
        if self.writable:
            self.loop.call_soon(wake)
        elif not self._closed:
            self._waiting[wake] = None

    def put(self, data: bytes) -> None:
        """Send ``data``, one or more whole frames, at the end of this loop iteration."""
        if self._closed:
            return
        if not self._pieces:
            self.iteration.at_end(Phase.SEND, self.flush)
        self._pieces.append(data)
        self._size += len(data)

    def put_all(self, pieces: list[bytes]) -> None:
        """Send ``pieces``, which together are whole frames, at the end of this loop iteration."""
        if self._closed or not pieces:
            return
        if not self._pieces:
            self.iteration.at_end(Phase.SEND, self.flush)
        self._pieces.extend(pieces)
        self._size += sum(map(len, pieces))

    def flush(self) -> None:
        """Hand everything to the transport now."""
        pieces = self._pieces
        if not pieces:
            return
        size = self._size
        self._pieces = []
        self._size = 0
        if len(pieces) == 1:
            self.transport.write(pieces[0])
        elif size < len(pieces) * _JOIN_SIZE_MAX:
            self.transport.write(b"".join(pieces))
        else:
            self.transport.writelines(pieces)
        self.budget.wrote(self, size)
        if self._congested:
            self._watch_the_backlog()
        elif self._waiting:
            self._wake()

    def congested(self) -> None:
        """The transport's buffer passed the high-water mark."""
        self._congested = True
        self._watch_the_backlog()

    def drained(self) -> None:
        """The transport's buffer is below the low-water mark again."""
        self._congested = False
        if self._backed_up_bytes_max != BACKED_UP_BYTES_MAX:
            self._backed_up_bytes_max = BACKED_UP_BYTES_MAX
            self.transport.set_write_buffer_limits(high=HIGH_WATER_BYTES, low=LOW_WATER_BYTES)
        if self._backed_up:
            self._backed_up = False
            self.read_pause.resume(PauseReason.UNREAD_ANSWERS)
        self._wake()

    def close(self) -> None:
        """Write what is there and take no more. Who waits for ``writable`` waits for ever."""
        self.flush()
        self._closed = True
        self._waiting.clear()

    def drop(self) -> None:
        """The connection is gone: forget what was not written."""
        self._closed = True
        self._pieces.clear()
        self._size = 0
        self._waiting.clear()
        self.budget.forget(self)

    def _watch_the_backlog(self) -> None:
        if self._backed_up or self.unwritten_bytes < self._backed_up_bytes_max:
            return
        self._backed_up = True
        self.read_pause.pause(PauseReason.UNREAD_ANSWERS)

    def _wake(self) -> None:
        if not self._waiting or not self.writable:
            return
        waiting, self._waiting = self._waiting, {}
        for wake in waiting:
            wake()


class OutboxBudget:
    """Memory for the unwritten bytes of all connections (``maxMessageDeliveryBufferSizeInMB``).

    When half of it is used, what is left is divided among those that have unwritten bytes. Who has
    more than its share stops until its client has read; who has less goes on. So a connection
    waits for its own client only, never for another's.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._step_bytes = max(bytes_max // COUNTS_PER_BUDGET, 1)
        self._written_bytes = 0  # Since the last count.
        # Invariant: who has unwritten bytes is among them; others may be, until the next count.
        self._outboxes: set[Outbox] = set()

    @property
    def unwritten_bytes(self) -> int:
        """What all connections have unwritten."""
        return sum(outbox.unwritten_bytes for outbox in self._outboxes)

    def wrote(self, outbox: Outbox, size_bytes: int) -> None:
        """Note that an outbox was given bytes to write."""
        self._outboxes.add(outbox)
        self._written_bytes += size_bytes
        if self._written_bytes >= self._step_bytes:
            self._count()

    def forget(self, outbox: Outbox) -> None:
        """The connection is gone, and what was unwritten with it."""
        self._outboxes.discard(outbox)

    def _count(self) -> None:
        self._written_bytes = 0
        held = {outbox: outbox.unwritten_bytes for outbox in self._outboxes}
        held = {outbox: size for outbox, size in held.items() if size}
        self._outboxes = set(held)
        used = sum(held.values())
        if used <= self._bytes_max // 2:
            return
        share = max(self._bytes_max - used, 0) // len(held)
        for outbox, size in held.items():
            if size > share:
                outbox.restrict(share)
