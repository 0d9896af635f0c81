"""Dead letters on their way back: which of them, where to, and as what. Pure.

A letter says with a property where it was published. Of an entry that has several messages, those
that are acknowledged already are left out.
"""

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from magnetar.errors import InvalidName
from magnetar.late_dataclass import dataclass
from magnetar.message import metadata
from magnetar.message.entry import join, split
from magnetar.model.names import TopicName
from magnetar.model.position import Position

from .message_filter import MessageFilter
from .stored import StoredMessage

ORIGIN_TOPIC: Final = "REAL_TOPIC"
DROPPED: Final = frozenset({ORIGIN_TOPIC, "RECONSUMETIMES", "DELAY_TIME", "RETRY_TOPIC"})
"""Properties of letters that would mean something where they go back to.

``ORIGIN_MESSAGE_ID`` stays, by which a consumer recognises what it has seen before.
"""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A message that is sent back; ``key`` chooses a partition."""

    message: StoredMessage
    target: TopicName
    stored: bytes  # The entry that has it.
    sequence_id: int | None = None  # It is published under one of its producer's.

    @property
    def key(self) -> str:
        chunk = self.message.chunk
        return self.message.key or (chunk.uuid if chunk else "")

    def entry(
        self, producer: str, sequence_id: int, now_ms: int, schema_version: bytes | None
    ) -> bytes:
        """The entry to be published: one of a batch by itself, any other as it is."""
        message = self.message
        if message.batch_index < 0:
            said, payload = split(self.stored)
            again = metadata.copied(
                said,
                producer,
                sequence_id,
                now_ms,
                without=DROPPED,
                schema_version=schema_version,
            )
            return join(again, bytes(payload))
        kept = {name: each for name, each in message.properties.items() if name not in DROPPED}
        again = metadata.build(
            producer,
            sequence_id,
            now_ms,
            key=message.key,
            key_b64=message.key_b64,
            ordering_key=message.ordering_key,
            properties=kept,
            event_time_ms=message.event_time_ms,
            null_value=message.null_value,
            uncompressed_size=len(message.data),
            schema_version=schema_version,
        )
        return join(again, message.data)


@dataclass(slots=True)
class EntryDeadLetters:
    """What of one entry is sent back, and why the rest is not."""

    position: Position
    letters: list[DeadLetter] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    left: int = 0  # Messages that are not wanted.

    @property
    def whole(self) -> bool:
        """Whether nothing of it stays."""
        return not self.skipped and not self.left


def dead_letters_of(
    position: Position,
    entry: bytes,
    messages: Sequence[StoredMessage],
    *,
    pending: list[int] | bool,
    wanted: MessageFilter,
    to: TopicName | None,
) -> EntryDeadLetters:
    """``pending``: the ack set of a batch, or whether the entry is; ``to`` replaces the origin."""
    found = EntryDeadLetters(position)
    for message in messages:
        if not is_pending(pending, message.batch_index):
            continue
        if not wanted.takes(message):
            found.left += 1
            continue
        target = to or _origin(message)
        if isinstance(target, str):
            found.skipped.append(target)
        else:
            found.letters.append(DeadLetter(message, target, entry))
    return found


def is_pending(pending: list[int] | bool, index: int) -> bool:  # noqa: FBT001 - or a list
    """Whether an ack set has a message."""
    if isinstance(pending, bool) or index < 0:
        return bool(pending)
    word, bit = divmod(index, 64)
    return word < len(pending) and bool(pending[word] >> bit & 1)


def without(pending: list[int] | bool, indexes: Sequence[int], size: int) -> list[int]:  # noqa: FBT001
    """The ack set of a batch of ``size`` messages after these are acknowledged, too."""
    words = [0] * (-(-size // 64))
    for index in range(size):
        if is_pending(pending, index) and index not in indexes:
            words[index // 64] |= 1 << index % 64
    return [word - 2**64 if word >= 2**63 else word for word in words]


def _origin(message: StoredMessage) -> TopicName | str:
    """Where a letter was published, or why nobody knows."""
    if message.marker_type is not None:
        return "it is a marker, which is for brokers"
    name = message.properties.get(ORIGIN_TOPIC)
    if name is None:
        return f"it has no property {ORIGIN_TOPIC}: say where to, with `to`"
    try:
        return TopicName.parse(name)
    except InvalidName:
        return f"{ORIGIN_TOPIC} names no topic: {name!r:.80}"
