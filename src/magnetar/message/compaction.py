"""Which messages of a topic stay when it is compacted: the last one of each key. Pure.

The entries are gone through twice, in the same order: ``note`` learns where the last message of
each key is, ``sift`` says what is left of each entry. Both are generators, which pause after every
``MESSAGES_AT_ONCE`` messages, so that the caller can let others work.

A message without content (a *tombstone*) removes its key: its uncompressed size is 0, which may be
said of a compressed or encrypted payload, or it has no bytes. (Pulsar 4.0.7 keeps one outside a
batch that is empty and does not say its size, as its own C++ and Python clients send it.) The
chunks of a message stay or go together. What nobody can look into, such
as an encrypted batch, stays as it is.
"""

from collections.abc import Generator
from hashlib import blake2b
from typing import Final

from google.protobuf.message import DecodeError

from magnetar.errors import CorruptEntry, LimitReached, MessageTooLarge
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb

from . import batch, compression
from .entry import join, payload_start

MESSAGES_AT_ONCE: Final = 200
"""After so many messages the caller is asked to let others work; that is about a millisecond."""

MESSAGE_SIZE: Final = 4096
"""An entry counts as a message for so many bytes, which are to be decompressed and written."""

BATCH_SIZE_MAX: Final = 64 * 1024 * 1024
"""A batch that is larger than this when it is decompressed stays as it is."""

_KEY_SIZE_MAX: Final = 32
"""Longer keys are known by a hash, which is one byte longer so that it is no other key."""

_REMOVED: Final = bytes.fromhex("00000004 1800 2001")
"""What is left of a message in a batch: a head of four bytes, a size of 0, compacted_out."""


class LastMessages:
    """Where the last message of each key is, among those that were noted."""

    def __init__(self, *, keys_max: int, retain_null_key: bool = False) -> None:
        """``retain_null_key``: messages without a key stay; else they go."""
        self.message_count = 0
        """Messages that were noted."""
        self.kept_count = 0
        """Messages that stayed, as far as the entries were sifted."""
        self._keys_max = keys_max
        self._retain_null_key = retain_null_key
        self._places: dict[bytes, int] = {}
        self._chunked: dict[str, int] = {}  # Where chunked messages end, by their uuids.
        self._unfinished: set[str] = set()  # Chunked messages whose last chunk did not come.
        self._worked = 0

    def note(self, position: Position, entry: bytes) -> Generator[None, None, None]:
        """Note the messages of an entry. Raises LimitReached when there are too many keys."""
        self._worked += len(entry) // MESSAGE_SIZE
        found = _parsed(entry)
        if found is None or found.HasField("marker_type"):
            return
        messages = _messages_of(found, entry)
        if messages is None:
            self.message_count += 1
            if not found.HasField("num_messages_in_batch"):
                self._note_single(position, found, entry)
        else:
            for index, (key, size) in enumerate(map(_key_and_size, messages[0])):
                if size is not None:
                    self.message_count += 1
                    if key is not None:
                        self._note(key, _place(position, index), empty=not size)
                if self._pauses():
                    yield
        if len(self._places) + len(self._chunked) + len(self._unfinished) > self._keys_max:
            raise LimitReached(
                f"there are more than {self._keys_max} keys, and the place of each is in memory: "
                "raise compactionKeysMax, or remove keys by empty messages"
            )
        if self._pauses():
            yield

    def sift(self, position: Position, entry: bytes) -> Generator[None, None, bytes | None]:
        """Return what stays of an entry, None for nothing; the entry itself when all of it does."""
        self._worked += len(entry) // MESSAGE_SIZE
        if self._pauses():
            yield
        found = _parsed(entry)
        if found is None:
            return entry
        if found.HasField("marker_type"):
            return None
        messages = _messages_of(found, entry)
        if messages is None:
            stays = found.HasField("num_messages_in_batch") or self._single_stays(position, found)
            self.kept_count += stays
            return entry if stays else None
        heads, bodies = messages
        pieces: list[bytes] = []
        kept = removed = 0
        for index, (key, size) in enumerate(map(_key_and_size, heads)):
            if size is not None and self._stays(key, _place(position, index)):
                kept += 1
                pieces += [len(heads[index]).to_bytes(4), heads[index], bodies[index]]
            else:
                removed += size is not None
                pieces.append(_REMOVED)
            if self._pauses():
                yield
        self.kept_count += kept
        if not kept:
            return None
        return _with_payload(found, b"".join(pieces)) if removed else entry

    def _note_single(self, position: Position, found: pb.MessageMetadata, entry: bytes) -> None:
        place = _place(position, 0)
        if _is_chunk(found):
            if found.chunk_id < found.num_chunks_from_msg - 1:
                self._unfinished.add(found.uuid)
                return
            self._unfinished.discard(found.uuid)
            self._chunked[found.uuid] = place
        key = _key_of(found)
        if key is not None:
            empty = not found.uncompressed_size and (
                found.HasField("uncompressed_size") or payload_start(entry) == len(entry)
            )
            self._note(key, place, empty=empty)

    def _note(self, key: bytes, place: int, *, empty: bool) -> None:
        if empty:
            self._places.pop(_known_as(key), None)
        else:
            self._places[_known_as(key)] = place

    def _single_stays(self, position: Position, found: pb.MessageMetadata) -> bool:
        place = _place(position, 0)
        if _is_chunk(found):
            if found.uuid in self._unfinished:
                return True
            place = self._chunked.get(found.uuid, place)
        return self._stays(_key_of(found), place)

    def _stays(self, key: bytes | None, place: int) -> bool:
        if key is None:
            return self._retain_null_key
        return self._places.get(_known_as(key)) == place

    def _pauses(self) -> bool:
        """Count one message. True: so many were looked at that others should have their turn."""
        self._worked += 1
        if self._worked < MESSAGES_AT_ONCE:
            return False
        self._worked = 0
        return True


def last_index(entry: bytes) -> int:
    """Return the index of the last message in a batch that compaction left there; -1 if no batch.

    Raises CorruptEntry.
    """
    found = _parsed(entry)
    if found is None:
        raise CorruptEntry("metadata that cannot be read")
    if not found.HasField("num_messages_in_batch"):
        return -1
    messages = _messages_of(found, entry)
    there = [] if messages is None else [_key_and_size(head)[1] is not None for head in messages[0]]
    return max(
        (index for index, is_there in enumerate(there) if is_there),
        default=found.num_messages_in_batch - 1,
    )


def _parsed(entry: bytes) -> pb.MessageMetadata | None:
    try:
        return pb.MessageMetadata.FromString(entry[4 : payload_start(entry)])
    except (CorruptEntry, DecodeError):
        return None


def _messages_of(found: pb.MessageMetadata, entry: bytes) -> tuple[list[bytes], list[bytes]] | None:
    """Heads and bodies of a batch; None for what is none, or that nobody here can look into."""
    if not found.HasField("num_messages_in_batch") or found.encryption_keys:
        return None
    try:
        payload = compression.decompress(
            found.compression,
            memoryview(entry)[payload_start(entry) :],
            found.uncompressed_size,
            size_max=BATCH_SIZE_MAX,
        )
        heads, bodies = batch.unpack(payload, max(found.num_messages_in_batch, 0))
    except (CorruptEntry, MessageTooLarge):
        return None
    return heads, bodies


def _key_and_size(head: bytes) -> tuple[bytes | None, int | None]:
    """Key and size of a message in a batch; the size is None where compaction removed it before."""
    found = pb.SingleMessageMetadata.FromString(head)
    return _key_of(found), None if found.compacted_out else found.payload_size


def _key_of(found: pb.MessageMetadata | pb.SingleMessageMetadata) -> bytes | None:
    if not found.HasField("partition_key"):
        return None
    key: str | bytes = found.partition_key  # Protobuf hands out bytes where they are not UTF-8.
    return key if isinstance(key, bytes) else key.encode()


def _is_chunk(found: pb.MessageMetadata) -> bool:
    return found.HasField("uuid") and found.num_chunks_from_msg > 1


def _with_payload(found: pb.MessageMetadata, payload: bytes) -> bytes:
    found.uncompressed_size = len(payload)
    kind = compression.CompressionType(found.compression)
    return join(found.SerializeToString(), compression.compress(kind, payload))


def _known_as(key: bytes) -> bytes:
    if len(key) <= _KEY_SIZE_MAX:
        return key
    return blake2b(key, digest_size=_KEY_SIZE_MAX + 1).digest()


def _place(position: Position, index: int) -> int:
    """A message's place as one number, which takes less memory than a tuple."""
    return (position.ledger_id << 64 | position.entry_id) << 32 | index
