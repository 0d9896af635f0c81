"""What a broker must know of entries before it may pass them on. Pure.

Every entry is looked at once: when it is published, or when it was read back from disk. What was
seen is kept beside the run: how many messages each entry holds, and by index what few entries have:
a chunk, a marker, a delay, a transaction, or metadata that nobody can read.

A run in which nothing is unusual is recognised as a whole, by a few C-level calls over all of it.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from operator import itemgetter
from types import MappingProxyType
from typing import Final, Self

from magnetar.errors import CorruptEntry

from . import metadata

_PRODUCER_NAME: Final = 0x0A
"""Every client writes the producer's name, field 1, first: other metadata is looked into."""
_SIZE: Final = itemgetter(slice(0, 4))
_FIRST_BYTE: Final = itemgetter(4)  # Of the metadata, behind its size.

# The tags of deliver_at_time, marker_type, both halves of a transaction's id, and the uuid of a
# chunked message. Other bytes may look like them: then the entry is looked into in vain.
_UNUSUAL_TAG: Final = re.compile(rb"[\x98\xa0\xb0\xb8\xd2]\x01").search

_VARINT = rb"[\x80-\xff]{0,8}[\x00-\x7f]"
_HEAD: Final = re.compile(rb"....\n[\x00-\x7f]", re.DOTALL).match  # Up to the name's size.
_UP_TO_TIME: Final = re.compile(rb"\x10(%b)\x18(%b)" % (_VARINT, _VARINT)).match
_ALIKE_MIN: Final = 32
"""Entries that are compared with each other; to look at each of fewer is quicker."""
_COMPARED_BYTES_MAX: Final = 64 * 1024
"""Metadata that is compared as one number."""


_NOTHING: Final[Mapping[int, metadata.Peek | None]] = MappingProxyType({})


class EntryTraits:
    """The traits of a run's entries."""

    __slots__ = ("message_count", "message_counts", "messages_per_entry", "slots", "unusual")

    def __init__(
        self,
        message_counts: list[int],
        unusual: Mapping[int, metadata.Peek | None] = _NOTHING,
    ) -> None:
        self.message_counts = message_counts
        """How many messages each entry holds, 1 or more."""
        self.message_count = sum(message_counts)
        """Of all entries."""
        self.messages_per_entry = self.message_count / (len(message_counts) or 1)
        self.unusual = unusual
        """By index: what is unusual; None for an entry whose metadata nobody can read."""
        self.slots: dict[type, list[int]] = {}
        """Slots of all keys, where a Key_Shared subscription asked, by the kind of its ranges."""

    def chunks_of(self, indexes: Container[int]) -> int:
        """How many of these entries are chunks of larger messages."""
        return sum(
            seen is not None and seen.chunk is not None and index in indexes
            for index, seen in self.unusual.items()
        )

    def part(self, start: int, stop: int) -> Self:
        """The traits of entries ``start`` to ``stop`` - 1."""
        unusual = {i - start: u for i, u in self.unusual.items() if start <= i < stop}
        return type(self)(self.message_counts[start:stop], unusual or _NOTHING)

    def joined(self, following: Sequence[Self]) -> Self:
        """The traits of one run that is made of the entries of several."""
        every = (self, *following)
        counts = list(chain.from_iterable(each.message_counts for each in every))
        if not any(each.unusual for each in every):
            return type(self)(counts)
        unusual, start = {}, 0
        for each in every:
            unusual.update({start + index: its for index, its in each.unusual.items()})
            start += len(each.message_counts)
        return type(self)(counts, unusual)


def traits_of(data: Sequence[bytes], message_counts: list[int] | None = None) -> EntryTraits:
    """Look at entries. ``message_counts`` are what their producer said, 0 where it said nothing.

    Without them the metadata tells. Counts that are all known must not be changed any more.
    """
    if message_counts is None:
        if len(data) > 1 and _alike(data) and (count := _usual_count(data[0])):
            return EntryTraits([count] * len(data))
        return _look_into(data, [0] * len(data))
    if 0 not in message_counts and ((len(data) >= _ALIKE_MIN and _alike(data)) or _usual(data)):
        return EntryTraits(message_counts)
    return _look_into(data, message_counts)


def _usual(data: Sequence[bytes]) -> bool:
    """Whether no entry has anything unusual."""
    try:
        if set(map(_FIRST_BYTE, data)) != {_PRODUCER_NAME}:
            return False
    except IndexError:
        return False
    ends = map((4).__add__, map(int.from_bytes, map(_SIZE, data)))
    return not any(map(_UNUSUAL_TAG, data, repeat(4), ends))


def _alike(data: Sequence[bytes]) -> bool:
    """Whether the metadata of all is the first one's but for sequence id and time, and usual."""
    first, count = data[0], len(data)
    end = 4 + int.from_bytes(first[:4])
    if not _HEAD(first) or end * count > _COMPARED_BYTES_MAX:
        return False
    found = _UP_TO_TIME(first, 6 + first[5], end)
    if found is None or _UNUSUAL_TAG(first, 4, end):
        return False
    cut, mask = _layout(end, found.regs, count)
    heads = b"".join(map(cut, data))
    if len(heads) != end * count:
        return False
    looked_at = int.from_bytes(heads) & mask
    return looked_at == _repeated(looked_at >> 8 * (len(heads) - end), end, count)


@lru_cache(maxsize=32)
def _layout(
    size: int, spans: tuple[tuple[int, int], ...], count: int
) -> tuple[Callable[[bytes], bytes], int]:
    """What cuts an entry's head, and all bits of ``count`` heads but the digits of varints."""
    bits = bytearray(b"\xff" * size)
    for start, stop in spans[1:]:
        bits[start:stop] = b"\x80" * (stop - start)
    return itemgetter(slice(0, size)), int.from_bytes(bits * count)


@lru_cache(maxsize=32)
def _repeated(head: int, size: int, count: int) -> int:
    return int.from_bytes(head.to_bytes(size) * count)


def _usual_count(entry: bytes) -> int:
    """How many messages an entry holds; 0 when there is anything unusual about it."""
    try:
        seen = metadata.peek(entry)
    except CorruptEntry:
        return 0
    return 0 if seen.unusual else max(seen.message_count, 1)


def _look_into(data: Sequence[bytes], message_counts: list[int]) -> EntryTraits:
    counts = list(message_counts)
    unusual: dict[int, metadata.Peek | None] = {}
    for index, entry in enumerate(data):
        if counts[index] and _usual((entry,)):
            continue
        seen = None
        try:
            seen = metadata.peek(entry)
        except CorruptEntry:
            counts[index] = 1
        else:
            counts[index] = max(seen.message_count, 1)
        if seen is None or seen.unusual:
            unusual[index] = seen
    return EntryTraits(counts, unusual or _NOTHING)
