"""Target: everything that looks into entries. It is right, or raises CorruptEntry; no more memory.

What a broker looks at (``peek``, counts, keys, traits) and what a client does (metadata, chunks,
compression, batches) get the same entries.
"""

from base64 import b64decode
from random import Random

from fuzz import corpus
from fuzz.commands import Commands
from fuzz.mutate import Mutator

from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.message import batch, metadata
from magnetar.message.chunk import Reassembly
from magnetar.message.compression import decompress
from magnetar.message.entry_traits import traits_of
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb

UNPACKED_MAX = 1024 * 1024  # Bytes that an entry may become.
CHUNKED_MAX = 5
DROPPED_MAX = 100_000


class Entries:
    """Endless entries, mostly not quite right, in runs; and who reads them."""

    def __init__(self, seed: int) -> None:
        self.chance = Random(seed)
        self._mutator = Mutator(self.chance, [entry for entry in corpus.entries() if entry])
        self._commands = Commands(self.chance, self._mutator)
        self._chunks = Reassembly(messages_max=CHUNKED_MAX, age_max_s=5.0, size_max=UNPACKED_MAX)
        self._now = 0.0

    def next(self) -> list[bytes]:
        return [self._commands.entry() for _ in range(self.chance.randint(1, 9))]

    def check(self, entries: list[bytes]) -> str:
        """Look into all of them, as broker and client do. How many were of use to a client."""
        self._look(entries)
        read = 0
        for entry in entries:
            _peek(entry)
            try:
                self._open(entry)
                read += 1
            except (CorruptEntry, MessageTooLarge):
                pass
        return "read" if read == len(entries) else "read in part" if read else "CorruptEntry"

    def _look(self, entries: list[bytes]) -> None:
        """A broker looks at what is fresh, with counts of the producers, and at what is not."""
        counts = [self.chance.choice((0, 0, 1, 7)) for _ in entries]
        for traits in (traits_of(entries, counts), traits_of(entries)):
            assert len(traits.message_counts) == len(entries)
            assert all(count > 0 for count in traits.message_counts)
            assert all(0 <= index < len(entries) for index in traits.unusual)
        # Without counts, every entry is looked into.
        for index, entry in enumerate(entries):
            try:
                seen: metadata.Peek | None = metadata.peek(entry)
            except CorruptEntry:
                seen = None
            usual = seen is not None and not seen.unusual
            assert usual == (index not in traits.unusual)
            assert traits.unusual.get(index, seen) == seen

    def _open(self, entry: bytes) -> None:
        found = metadata.parse(entry)
        body = bytes(entry[found.payload_start :])
        if found.chunk is not None:
            self._now += self.chance.random()
            position = Position(1, self.chance.randrange(100))
            whole = self._chunks.add(found.chunk, body, position, self._now)
            self._check_chunks()
            if whole is None:
                return
            body = whole[0]
        body = decompress(found.compression, body, found.uncompressed_size, size_max=UNPACKED_MAX)
        if not found.is_batch:
            return
        heads, bodies = batch.unpack(body, found.message_count)
        assert len(heads) == len(bodies) == max(found.message_count, 0)
        assert sum(map(len, heads)) + sum(map(len, bodies)) + 4 * len(heads) <= len(body)
        rows = batch.unpack_as(tuple, None, b"?" + body, len(heads), start=1)
        assert [row[2:] for row in rows] == list(zip(heads, bodies, strict=True))
        for head in heads[:20]:
            batch.parse_single(head)

    def _check_chunks(self) -> None:
        assert len(self._chunks._beginnings) <= CHUNKED_MAX
        self._chunks.take_dropped()


def _peek(entry: bytes) -> None:
    """None of these may fail, whatever it is; save ``peek``, which says so."""
    count, published_ms = metadata.message_count(entry), metadata.publish_time_ms(entry)
    key = metadata.sticky_key(entry)
    try:
        seen = metadata.peek(entry)
    except CorruptEntry:
        assert (count, published_ms, key) == (1, 0, b"")
        return
    assert metadata.parse(entry).message_count == seen.message_count
    assert published_ms == seen.publish_time_ms
    assert key == _sticky_key(entry, seen)
    assert count in {seen.message_count, 1}


def _sticky_key(entry: bytes, seen: metadata.Peek) -> bytes:
    """As the protocol has it, without any short cut."""
    found = pb.MessageMetadata.FromString(entry[4 : 4 + int.from_bytes(entry[:4])])
    if found.HasField("ordering_key"):
        return found.ordering_key
    if not found.HasField("partition_key"):
        return f"{seen.producer_name}-{seen.sequence_id}".encode()
    key = metadata.text(found.partition_key).encode()
    try:
        return b64decode(key, validate=True) if found.partition_key_b64_encoded else key
    except ValueError:
        return key
