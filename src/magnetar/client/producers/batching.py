"""Batches: messages that wait to be sent as one entry. Pure.

A batch leaves when it holds enough messages or bytes, or when its first message has waited long
enough; the producer keeps the time. ``OneBatch`` is the usual way; ``BatchPerKey`` never mixes
keys, because a Key_Shared subscription hands out whole entries.
"""

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.model.txn_id import TxnId

W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """A batch that was packed by its sender: ``inner.pack_rows`` makes its payload."""

    payload: bytes  # Of messages that are numbered, one after the other.
    message_count: int
    first_sequence_id: int
    size_bytes: int  # The bytes that its messages count.
    key: str | bytes | None = None  # The first message's, by which the broker takes the batch.
    ordering_key: bytes | None = None


@dataclass(slots=True)
class Batch(Generic[W]):
    """The messages of one entry, in order. ``waiters`` are (first index, count, waiter).

    Sequence ids count up from the first message's, but for what ``details`` says otherwise.
    """

    first_sequence_id: int
    deadline: float  # When it fails, in seconds of the clock.
    payloads: list[bytes] = field(default_factory=list)
    # By index, the messages that have more than a payload.
    details: dict[int, OutgoingMessage] = field(default_factory=dict)
    size_bytes: int = 0
    ids_given: bool = False  # The application chose some of the sequence ids.
    waiters: list[tuple[int, int, W]] = field(default_factory=list)
    packed: PackedBatch | None = None  # Then it has no payloads.
    txn: TxnId | None = None  # The transaction that all of it is sent in.
    entwined: bool = False  # Ids of other batches lie between its own.

    @classmethod
    def of(cls, packed: PackedBatch, deadline: float, txn: TxnId | None = None) -> Self:
        size = packed.size_bytes
        return cls(packed.first_sequence_id, deadline, size_bytes=size, packed=packed, txn=txn)

    @property
    def last_sequence_id(self) -> int:
        last = len(self) - 1
        details = self.details.get(last)
        if details is not None and details.sequence_id is not None:
            return details.sequence_id
        return self.first_sequence_id + last

    @property
    def sequence_id(self) -> int:
        """The first id as the broker is told it, which takes an id below another for sent before.

        Batches whose ids are entwined are sent by their last ids, and each tells that alone.
        """
        return self.last_sequence_id if self.entwined else self.first_sequence_id

    def __len__(self) -> int:
        return len(self.payloads) if self.packed is None else self.packed.message_count


class OpenBatches(Protocol[W]):
    """The batches of one producer that have not been sent yet."""

    messages: int  # How many messages wait, and how many bytes they count.
    size_bytes: int

    def batch_for(self, key: str | bytes | None) -> Batch[W] | None:
        """Return the open batch for a message with this key, if there is one."""

    def open(self, key: str | bytes | None, batch: Batch[W]) -> None:
        """Start a batch for messages with this key, where ``batch_for`` found none."""

    def take(self) -> list[Batch[W]]:
        """Take out every batch, by first sequence id."""


class OneBatch(Generic[W]):
    """Puts all messages into one batch."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0
        self._batch: Batch[W] | None = None

    def batch_for(self, key: str | bytes | None) -> Batch[W] | None:
        return self._batch

    def open(self, key: str | bytes | None, batch: Batch[W]) -> None:
        self._batch = batch

    def take(self) -> list[Batch[W]]:
        batch, self._batch = self._batch, None
        self.messages = self.size_bytes = 0
        return [] if batch is None else [batch]


class BatchPerKey(Generic[W]):
    """Puts messages into one batch per key. The limits hold for all batches together."""

    def __init__(self) -> None:
        self.messages = 0
        self.size_bytes = 0
        self._batches: dict[str | bytes | None, Batch[W]] = {}

    def batch_for(self, key: str | bytes | None) -> Batch[W] | None:
        return self._batches.get(key)

    def open(self, key: str | bytes | None, batch: Batch[W]) -> None:
        self._batches[key] = batch

    def take(self) -> list[Batch[W]]:
        batches = sorted(self._batches.values(), key=lambda batch: batch.first_sequence_id)
        self._batches.clear()
        self.messages = self.size_bytes = 0
        return batches


def renumber(batches: list[Batch[W]]) -> list[Batch[W]]:
    """Let sequence ids rise from batch to batch, and return these in the order to send them in.

    Those of batches per key are entwined: a broker that deduplicates would take all but the first
    batch for duplicates. Ids that the application chose are kept in the messages.
    """
    if len(batches) < 2:
        return batches
    if any(batch.ids_given for batch in batches):
        for batch in batches:
            batch.entwined = True
        return sorted(batches, key=lambda batch: batch.last_sequence_id)
    next_id = batches[0].first_sequence_id
    for batch in batches:
        batch.first_sequence_id = next_id
        for details in batch.details.values():
            details.sequence_id = None
        next_id += len(batch)
    return batches


def fitting(ends: list[int], at: int, messages_max: int, bytes_max: int) -> int:
    """Return the index up to which the messages from ``at`` on stay within the limits.

    ``ends`` are the running sums of the messages' sizes, beginning with 0.
    """
    stop_max = min(at + messages_max, len(ends) - 1)
    return bisect_right(ends, ends[at] + bytes_max, at, stop_max + 1) - 1
