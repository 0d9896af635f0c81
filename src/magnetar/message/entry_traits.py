"""The traits of entries that a broker must know before it delivers them. Pure.

Every entry is looked at once: when it is published, or when it was read back from disk. What was
seen is kept beside the run: how many messages each entry holds, when it is to be delivered, and by
index what few entries have: a chunk, a marker, or metadata that nobody can read.
"""

from array import array
from collections.abc import Container, Mapping, Sequence
from itertools import chain, repeat
from types import MappingProxyType
from typing import Final, Self

from magnetar import inner
from magnetar.errors import CorruptEntry

from . import metadata

_NOTHING: Final[Mapping[int, metadata.Peek | None]] = MappingProxyType({})


class EntryTraits:
    """The traits of a run's entries."""

    __slots__ = (
        "_slots",
        "due_ms",
        "message_count",
        "message_counts",
        "messages_per_entry",
        "unusual",
    )

    def __init__(
        self,
        message_counts: list[int],
        unusual: Mapping[int, metadata.Peek | None] = _NOTHING,
        due_ms: Sequence[int] = (),
    ) -> None:
        self.due_ms = due_ms
        """When each entry is to be delivered, 0 for at once; empty where that holds for all."""
        self.message_counts = message_counts
        """How many messages each entry holds, 1 or more."""
        self.unusual = unusual
        """By index: entries with unusual metadata; None for one whose metadata is corrupt."""
        self.message_count = sum(message_counts)
        """The sum over all entries."""
        self.messages_per_entry = self.message_count / (len(message_counts) or 1)
        self._slots: dict[type, list[int]] | None = None

    @property
    def slots(self) -> dict[type, list[int]]:
        """Slots of all keys, where a Key_Shared subscription asked, by the kind of its ranges."""
        if self._slots is None:
            self._slots = {}
        return self._slots

    @property
    def corrupt(self) -> set[int]:
        """The indexes of entries whose metadata is corrupt."""
        return {index for index, seen in self.unusual.items() if seen is None}

    def chunks_of(self, indexes: Container[int]) -> int:
        """How many of these entries are chunks of larger messages."""
        return sum(
            seen is not None and seen.chunk is not None and index in indexes
            for index, seen in self.unusual.items()
        )

    def part(self, start: int, stop: int) -> Self:
        """The traits of entries ``start`` to ``stop`` - 1."""
        unusual = {i - start: u for i, u in self.unusual.items() if start <= i < stop}
        return type(self)(
            self.message_counts[start:stop], unusual or _NOTHING, self.due_ms[start:stop]
        )

    def joined(self, following: Sequence[Self]) -> Self:
        """The traits of one run that is made of the entries of several."""
        every = (self, *following)
        counts = list(chain.from_iterable(each.message_counts for each in every))
        if not any(each.unusual or each.due_ms for each in every):
            return type(self)(counts)
        due_ms = array("q")
        unusual, start = {}, 0
        for each in every:
            unusual.update({start + index: its for index, its in each.unusual.items()})
            start += len(each.message_counts)
            due_ms.extend(each.due_ms or repeat(0, len(each.message_counts)))
        return type(self)(counts, unusual, due_ms if any(due_ms) else ())


def traits_of(data: list[bytes], message_counts: list[int] | None = None) -> EntryTraits:
    """Look at entries. ``message_counts`` are what their producer said, 0 where it said nothing.

    Without them the metadata tells. Counts that are all known must not be changed any more.
    """
    counts, general = inner.look_into(data, message_counts or [0] * len(data))
    unusual: dict[int, metadata.Peek | None] = {}
    due_ms: array[int] | None = None
    for index in general:
        seen = None
        try:
            seen = metadata.peek(data[index])
        except CorruptEntry:
            counts[index] = 1
        else:
            counts[index] = max(seen.message_count, 1)
            if seen.deliver_at_ms:
                due_ms = due_ms or array("q", bytes(8 * len(data)))
                due_ms[index] = seen.deliver_at_ms
        if seen is None or seen.unusual:
            unusual[index] = seen
    return EntryTraits(counts, unusual or _NOTHING, due_ms or ())
