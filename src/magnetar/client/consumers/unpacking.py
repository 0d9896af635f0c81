"""Turns entries into messages. Pure but for its log.

An entry that cannot be read is logged, once per reason, and left out, as is what the application
has seen already or must not see. What has to be done about such entries is for the owner, who asks
for ``take_events`` after it had entries opened: an entry is rejected with the reason, so that it is
not delivered again and again, or withheld until its key is there, or acknowledged already.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from magnetar.client.consumers.config import ConsumerConfig, ConsumerCryptoFailureAction
from magnetar.client.encryption.data_keys import Decryptor
from magnetar.client.message import Decode, Delivery
from magnetar.errors import CorruptEntry, CryptoFailed, MessageTooLarge
from magnetar.message.batch import bits_left, unpack
from magnetar.message.chunk import Reassembly
from magnetar.message.compression import CompressionType, decompress
from magnetar.message.metadata import ChunkInfo, Encryption, Metadata, message_count, parse
from magnetar.model.position import Position
from magnetar.wire.frames import Frame

from .acknowledgements import Acknowledgements, bits
from .entry import Entry
from .read_position import Start
from .receive_queue import Opened, OpenedEntry

log = logging.getLogger(__name__)


class Flaw(IntEnum):
    """Why an entry cannot be read, with the numbers of the wire."""

    UNCOMPRESSED_SIZE = 0
    DECOMPRESSION = 1
    CHECKSUM = 2
    BATCH = 3
    DECRYPTION = 4


class Unreadable(Exception):
    """An entry that cannot be turned into messages."""

    def __init__(self, flaw: Flaw, text: object) -> None:
        super().__init__(str(text))
        self.flaw = flaw


@dataclass(slots=True)
class Events:
    """The outcome of opening entries: what to deliver, drop, hold or report."""

    rejected: list[tuple[Position, Flaw]] = field(default_factory=list)  # Tell the broker.
    withheld: list[Position] = field(default_factory=list)  # They stay unacknowledged.
    acknowledged: bool = False  # There is something to send.
    chunks_due: float | None = None  # When ``expire`` is to be called.


class Unpacker:
    """Opens the entries of one consumer of one topic."""

    start: Start | None  # Set while a part of the first entry may have to be left out.
    time_start_ms: int | None  # Set until a message published at this time or later comes.
    seen_before: Position | None  # The application may have received entries up to here.
    withheld: dict[Position, int]  # Entries that cannot be decrypted, and their permits.

    def __init__(
        self,
        topic: str,
        partition: int,
        acknowledged: Acknowledgements,
        config: ConsumerConfig,
        *,
        now: Callable[[], float],
        decode: Callable[[bytes | None], Decode] | None = None,
        holder: Callable[[], object] | None = None,
    ) -> None:
        """``decode`` returns what decodes the messages of a version of the schema, ``holder`` the
        consumer or reader.
        """
        self.start = None
        self.time_start_ms = None
        self.seen_before = None
        self.withheld = {}
        self._topic = topic
        self._partition = partition
        self._acknowledged = acknowledged
        self._chunks = Reassembly(
            messages_max=config.chunked_messages_max,
            age_max_s=config.chunk_age_max_s,
            size_max=config.message_size_max,
            redeliver=config.redeliver_incomplete,
            drop_oldest=config.ack_oldest_incomplete,
            out_of_order=not config.type.single_active,
        )
        self._join_chunks = config.join_chunks
        self._ordered = config.type.single_active
        self._compacted = config.read_compacted
        self._size_max = config.message_size_max
        self._now = now
        self._decryptor = Decryptor(config.crypto_key_reader) if config.crypto_key_reader else None
        self._crypto_failure_action = config.crypto_failure_action
        self._decode = decode
        self._holder = holder
        self._reported: set[Flaw] = set()
        self._events: Events | None = None

    @property
    def has_events(self) -> bool:
        """Whether ``take_events`` has any."""
        return self._events is not None

    def take_events(self) -> Events:
        """Take what has happened since this was asked before."""
        events, self._events = self._events or Events(), None
        return events

    def _note(self) -> Events:
        if self._events is None:
            self._events = Events()
        return self._events

    def open(self, frame: Frame) -> Opened:
        """The messages of an entry that the application should get, and its cost in permits."""
        opened = self.open_entry(frame)
        if opened.entry is None:
            return Opened([], opened.permits)
        try:
            return Opened(opened.entry.messages(), opened.permits, opened.entry)
        except CorruptEntry as error:
            self._refuse(opened.entry.delivery.position, Flaw.BATCH, error)
        return Opened([], opened.permits)

    def open_entry(self, frame: Frame) -> OpenedEntry:
        """An entry that the application should get messages of, and its cost in permits."""
        command = frame.command.message
        place = command.message_id
        position = Position(place.ledgerId, place.entryId)
        if frame.entry is None or not frame.checksum_ok:
            self._refuse(position, Flaw.CHECKSUM, "the checksum does not match")
            return OpenedEntry(None, 1)
        permits = 1
        try:
            metadata = parse(frame.entry)
            permits = max(metadata.message_count, 1)
            if command.ack_set:
                permits = bits(command.ack_set).bit_count()
            return OpenedEntry(self._entry(frame, frame.entry, position, metadata), permits)
        except Unreadable as error:
            self._refuse(position, error.flaw, error)
        except CryptoFailed as error:
            self._hold_back(position, permits, error)
            return OpenedEntry(None, 0)
        except CorruptEntry as error:
            self._refuse(position, Flaw.BATCH, error)
        return OpenedEntry(None, permits)

    def clear(self) -> None:
        """Forget the chunks that came so far: the broker sends them again."""
        self._chunks.clear()
        self.withheld.clear()
        self._acknowledged.chunks_come_again()

    def expire(self) -> list[Position]:
        """Give up chunked messages that took too long. Returns the entries to ask for again."""
        self._chunks.expire(self._now())
        self._give_up_chunks()
        again = self._chunks.take_again(self._now())
        self._watch_chunks()
        return again

    def _entry(
        self, frame: Frame, entry: bytes, position: Position, metadata: Metadata
    ) -> Entry | None:
        if self._acknowledged.covers(position):
            self._done(position)  # The broker does not know it yet, or has forgotten it.
            return None
        if self._too_early(metadata):
            self._done(position)
            return None
        delivery = Delivery(
            self._topic,
            position,
            self._partition,
            metadata.message_count if metadata.is_batch else 0,
            metadata,
            frame.command.message.redelivery_count,
            redelivered=frame.command.message.redelivery_count > 0
            or (self.seen_before is not None and position <= self.seen_before),
            decode=None if self._decode is None else self._decode(metadata.schema_version),
            holder=self._holder,
        )
        ack_set = frame.command.message.ack_set
        if metadata.is_plain_batch:  # The usual case, which needs no copy.
            return self._batch(delivery, entry, ack_set, metadata.payload_start)
        return self._wrapped(delivery, entry[metadata.payload_start :], ack_set)

    def _wrapped(self, delivery: Delivery, body: bytes, ack_set: Sequence[int]) -> Entry | None:
        """A message alone, or what was encrypted, split or compressed."""
        metadata = delivery.metadata
        if metadata.encryption is not None:
            try:
                body = self._decrypted(metadata.encryption, body)
            except CryptoFailed as error:
                if self._crypto_failure_action is ConsumerCryptoFailureAction.DISCARD:
                    raise Unreadable(Flaw.DECRYPTION, error) from error
                if self._crypto_failure_action is ConsumerCryptoFailureAction.FAIL:
                    raise
                return self._undecrypted(delivery, body)
        if metadata.chunk is not None:
            if not self._join_chunks:
                return self._single(delivery, body)
            whole = self._add_chunk(metadata.chunk, body, delivery.position)
            if whole is None:
                return None
            body, delivery.chunks = whole
        payload = self._decompressed(metadata, body)
        if metadata.is_batch:
            return self._batch(delivery, payload, ack_set)
        return self._single(delivery, payload)

    def _single(self, delivery: Delivery, payload: bytes) -> Entry | None:
        position = delivery.position
        if self.start is not None and self.start.skip(position, 1):
            for place in delivery.chunks or (position,):
                self._done(place)
                self._acknowledged.chunked_done(place)
            return None
        return Entry(delivery, payload)

    def _undecrypted(self, delivery: Delivery, body: bytes) -> Entry | None:
        """An entry, whole and as it is, be it a batch or a chunk."""
        delivery.batch_size, delivery.decrypted = 0, False
        return self._single(delivery, body)

    def _decrypted(self, encryption: Encryption, body: bytes) -> bytes:
        if self._decryptor is None:
            raise CryptoFailed("it is encrypted, and the consumer has no crypto_key_reader")
        return self._decryptor.decrypt(encryption, body)

    def _hold_back(self, position: Position, permits: int, error: CryptoFailed) -> None:
        """Leave an entry unacknowledged, and do not ask for others in its place."""
        self._report(Flaw.DECRYPTION, position, error)
        self.withheld[position] = permits
        self._note().withheld.append(position)
        if self._ordered:
            self._acknowledged.chunked(position)  # No cumulative acknowledgement takes it in.

    def _add_chunk(
        self, place: ChunkInfo, part: bytes, position: Position
    ) -> tuple[bytes, tuple[Position, ...]] | None:
        """Add a chunk; return the payload and the positions of a message that is complete."""
        try:
            whole = self._chunks.add(place, part, position, self._now())
        finally:
            self._give_up_chunks()
        if self._ordered and place.index == 0 and self._chunks.first(place.uuid) == position:
            self._acknowledged.chunked(position)
        if whole is None:
            self._watch_chunks()
            if place.index and self.start is not None and self.start.includes(position):
                log.warning(
                    "consumer.start_skipped topic=%s message_id=%s: it names the last entry of "
                    "a chunked message without its first one; keep an id by MessageId.to_bytes() "
                    "or to_text()",
                    self._topic,
                    self.start.message_id,
                )
        elif self._ordered:
            self._acknowledged.chunked(whole[1][0], whole[1][-1])
        return whole

    def _watch_chunks(self) -> None:
        due = self._chunks.due
        if due is not None:
            self._note().chunks_due = due

    def _give_up_chunks(self) -> None:
        dropped = self._chunks.take_dropped()
        if dropped:
            log.warning(
                "consumer.chunks_given_up topic=%s positions=%s",
                self._topic,
                ",".join(map(str, dropped)),
            )
        for given_up in dropped:
            self._done(given_up)
            self._acknowledged.chunked_done(given_up)

    def _batch(
        self, delivery: Delivery, data: bytes, ack_set: Sequence[int], start: int = 0
    ) -> Entry | None:
        count = delivery.batch_size
        if count < 1:
            raise CorruptEntry(f"a batch of {count} messages")
        wanted = whole = (1 << count) - 1
        left = self._acknowledged.remaining(delivery.position)
        if left is not None:
            wanted &= left
        if self._compacted:
            wanted &= bits_left(unpack(data[start:], count)[0])
        if self.start is not None:
            wanted &= whole << self.start.skip(delivery.position, count)
        missing = whole & ~bits(ack_set) if ack_set else 0
        if wanted == whole and left is None and not missing:
            return Entry(delivery, data, None, start)
        if not wanted:
            self._done(delivery.position)
            return None
        self._acknowledged.delivered(delivery.position, wanted, missing, whole)
        wanted &= ~missing
        if not wanted:
            self._note().acknowledged = True
            return None
        return Entry(delivery, data, None if wanted == whole else wanted, start)

    def _decompressed(self, metadata: Metadata, body: bytes) -> bytes:
        if metadata.compression == CompressionType.NONE:
            return body
        try:
            return decompress(
                metadata.compression, body, metadata.uncompressed_size, size_max=self._size_max
            )
        except MessageTooLarge as error:
            raise Unreadable(Flaw.UNCOMPRESSED_SIZE, error) from error
        except CorruptEntry as error:
            raise Unreadable(Flaw.DECOMPRESSION, error) from error

    def _too_early(self, metadata: Metadata) -> bool:
        if self.time_start_ms is None:
            return False
        if metadata.publish_time_ms < self.time_start_ms:
            return True
        self.time_start_ms = None
        return False

    def _done(self, position: Position) -> None:
        """Acknowledge an entry that has nothing for the application."""
        self._acknowledged.entry(position)
        self._note().acknowledged = True

    def _refuse(self, position: Position, flaw: Flaw, error: object) -> None:
        self._report(flaw, position, error)
        self._note().rejected.append((position, flaw))

    def _report(self, flaw: Flaw, position: Position, error: object) -> None:
        if flaw not in self._reported:
            self._reported.add(flaw)
            log.warning(
                "consumer.unreadable topic=%s position=%s flaw=%s error=%s",
                self._topic,
                position,
                flaw.name,
                error,
            )


def permits_of(frame: Frame) -> int:
    """The permits that an entry takes: its messages, less those acknowledged before."""
    if ack_set := frame.command.message.ack_set:
        return bits(ack_set).bit_count()
    return message_count(frame.entry) if frame.entry else 1
