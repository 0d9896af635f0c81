"""The sends of a producer that have no receipt yet, in their order. Pure.

The broker answers every send once, in order. A receipt for a lower sequence id than the oldest
pending one belongs to a send that was given up or repeated; one for a higher id means that the
order is broken, which only a new connection mends.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from magnetar.client.memory_limit import MemoryLimit
from magnetar.client.statistics import Counts
from magnetar.errors import MemoryFull, QueueFull
from magnetar.model.position import Position

W = TypeVar("W")


@dataclass(slots=True)
class ChunkedSend:
    """A message sent as several entries. Their pending sends share it."""

    first: Position | None = None  # Where the first chunk was stored, once that is known.


@dataclass(slots=True, eq=False)
class PendingSend(Generic[W]):
    """An entry that was sent, or will be when there is a connection."""

    sequence_id: int  # That of the first message, which the receipt names.
    last_sequence_id: int
    pieces: list[bytes]  # The frame; written again after a reconnection.
    message_count: int  # 0 for every chunk but the last.
    batch_size: int  # 0 outside a batch.
    size_bytes: int  # The bytes that it counts.
    deadline: float  # When it fails, in seconds of the clock; infinity for never.
    waiters: list[tuple[int, int, W]] = field(default_factory=list)  # (first index, count, who)
    chunked: ChunkedSend | None = None
    number: int = 0  # Its place among all sends of the producer, from 1; given by ``append``.


class PendingSends(Generic[W]):
    """The sends of one producer that have no answer yet, bounded by messages and by bytes.

    ``messages`` and ``size_bytes`` also count what was admitted and is still in an open batch.
    """

    messages: int  # Invariant: at least the sum over the queue.
    size_bytes: int
    appended: int  # How many sends were ever appended: the number of the youngest, from 1.

    def __init__(
        self, *, messages_max: int, bytes_max: int, memory: MemoryLimit | None = None
    ) -> None:
        """``memory`` is shared with other producers."""
        self.messages = 0
        self.size_bytes = 0
        self._messages_max = messages_max
        self._bytes_max = bytes_max
        self._memory = memory
        self._sends: deque[PendingSend[W]] = deque()
        self.appended = 0
        self.sent = Counts(0, 0)
        self.stored_messages = 0
        self.failed_messages = 0

    def __len__(self) -> int:
        return len(self._sends)

    def __iter__(self) -> Iterator[PendingSend[W]]:
        return iter(self._sends)

    @property
    def full(self) -> bool:
        """Whether nothing more may be admitted. An empty queue takes a message of any size."""
        return not self.has_room(0, 0)

    def has_room(self, messages: int, size_bytes: int) -> bool:
        """Whether something may be admitted after so many more. Asked for every message."""
        memory = self._memory
        return (
            self.messages + messages < self._messages_max
            and self.size_bytes + size_bytes < self._bytes_max
            and (memory is None or memory.used_bytes + size_bytes < memory.limit_bytes)
        )

    def no_room(self, topic: str, messages: int, size_bytes: int) -> QueueFull:
        """What to raise where ``has_room`` says no, and what to do about it."""
        memory = self._memory
        if memory is not None and not memory.has_room(size_bytes):
            return MemoryFull(
                f"the client's producers hold {memory.used_bytes + size_bytes} bytes without a "
                f"receipt, and may hold {memory.limit_bytes} (memory_limit_bytes): await ready() "
                "before sending more"
            )
        return QueueFull(
            f"the queue to {topic} is full ({self.messages + messages} messages, "
            f"{self.size_bytes + size_bytes} bytes): await ready() before sending more"
        )

    @property
    def room(self) -> int:
        """How many messages may be admitted."""
        return self._messages_max - self.messages

    @property
    def settled(self) -> int:
        """The number up to which every send has been taken out."""
        return self._sends[0].number - 1 if self._sends else self.appended

    @property
    def first_deadline(self) -> float:
        """When the oldest send fails; infinity when there is none."""
        return self._sends[0].deadline if self._sends else float("inf")

    def admit(self, messages: int, size_bytes: int) -> None:
        self.messages += messages
        self.size_bytes += size_bytes
        if self._memory is not None:
            self._memory.used_bytes += size_bytes

    def release(self, messages: int, size_bytes: int) -> None:
        self.messages -= messages
        self.size_bytes -= size_bytes
        if self._memory is not None:
            self._memory.release(size_bytes)

    def append(self, send: PendingSend[W]) -> None:
        """Add a send whose messages were admitted before."""
        self.appended += 1
        send.number = self.appended
        self._sends.append(send)
        self.sent.messages += send.message_count
        self.sent.size_bytes += send.size_bytes

    def answered(self, sequence_id: int) -> PendingSend[W] | None:
        """Take out the oldest send if it has this sequence id."""
        if self._sends and self._sends[0].sequence_id == sequence_id:
            self.stored_messages += self._sends[0].message_count
            return self._pop()
        return None

    def refused(self, sequence_id: int) -> list[PendingSend[W]]:
        """Take out all sends with this sequence id: a message, with all its chunks."""
        gone = [send for send in self._sends if send.sequence_id == sequence_id]
        for send in gone:
            self._sends.remove(send)
            self.release(send.message_count, send.size_bytes)
            self.failed_messages += send.message_count
        return gone

    def out_of_order(self, sequence_id: int) -> bool:
        """Whether an answer with this sequence id has overtaken that of the oldest send."""
        return bool(self._sends) and sequence_id > self._sends[0].sequence_id

    def expired(self, now: float) -> list[PendingSend[W]]:
        """Take out the sends with a deadline up to ``now``, oldest first."""
        gone = []
        while self._sends and self._sends[0].deadline <= now:
            self.failed_messages += self._sends[0].message_count
            gone.append(self._pop())
        return gone

    def _pop(self) -> PendingSend[W]:
        send = self._sends.popleft()
        self.release(send.message_count, send.size_bytes)
        return send
