"""Backpressure on publishing: limits on unanswered sends, per connection and together. Pure."""

from collections.abc import Callable
from dataclasses import KW_ONLY

from magnetar.late_dataclass import dataclass

from .read_pause import PauseReason, ReadPause


class PublishBuffer:
    """Memory for the pending sends of all connections (``maxMessagePublishBufferSizeInMB``).

    Connections that exceed it are not read until half of it is free.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self.bytes_free = bytes_max
        """Bytes that publishes may still take; ``PendingPublishes`` takes and releases them."""
        self.waiting: list[Callable[[], None]] = []
        """Is called once, when half of the buffer is free."""

    @property
    def used_bytes(self) -> int:
        return self._bytes_max - self.bytes_free

    def when_free(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when half of the buffer is free."""
        self.waiting.append(wake)

    def wake(self) -> None:
        """Call who waits, where half of the buffer is free; bytes were released."""
        assert self.bytes_free <= self._bytes_max, "what is given back was taken"
        if self.used_bytes <= self._bytes_max // 2:
            waiting, self.waiting = self.waiting, []
            for wake in waiting:
                wake()


@dataclass(slots=True, eq=False)
class PendingPublishes:
    """The pending sends of one connection. What is added must be settled once, as a whole.

    When there are too many, the client's socket is not read until half of them are answered. Sends
    of a connection that is lost count until they are stored: they take up memory until then.
    """

    buffer: PublishBuffer
    read_pause: ReadPause
    _: KW_ONLY
    count_max: int
    bytes_max: int
    _paused: bool = False
    _buffer_exceeded: bool = False
    _count: int = 0
    _bytes: int = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size_bytes(self) -> int:
        return self._bytes

    def add(self, count: int, size_bytes: int) -> None:
        self._count += count
        self._bytes += size_bytes
        buffer = self.buffer
        buffer.bytes_free -= size_bytes
        if buffer.bytes_free <= 0 and not self._buffer_exceeded:
            self._buffer_exceeded = True
            buffer.when_free(self._buffer_freed)
            self._pause()
        if self._count >= self.count_max or self._bytes >= self.bytes_max:
            self._pause()

    def settle(self, count: int, size_bytes: int) -> None:
        """Take sends off that are answered, or never will be."""
        self._count -= count
        self._bytes -= size_bytes
        assert self._count >= 0, "what is settled was added"
        buffer = self.buffer
        buffer.bytes_free += size_bytes
        if buffer.waiting:
            buffer.wake()
        if self._paused:
            self._resume_if_few()

    def _pause(self) -> None:
        if not self._paused:
            self._paused = True
            self.read_pause.pause(PauseReason.PENDING_SENDS)

    def _buffer_freed(self) -> None:
        self._buffer_exceeded = False
        self._resume_if_few()

    def _resume_if_few(self) -> None:
        if (
            self._paused
            and not self._buffer_exceeded
            and self._count <= self.count_max // 2
            and self._bytes <= self.bytes_max // 2
        ):
            self._paused = False
            self.read_pause.resume(PauseReason.PENDING_SENDS)
