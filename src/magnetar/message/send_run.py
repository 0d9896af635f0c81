"""A run of sends: what one producer sent in one read of its socket, as parallel lists. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from .entry_traits import EntryTraits, traits_of

T = TypeVar("T")


@dataclass(slots=True)
class SendRun:
    """Consecutive sends of one producer, in the order of the wire; none only where all are apart.

    ``data`` are entries: metadata size, metadata, payload, without the checksum's 6-byte head;
    ``checksums`` their CRC32-C, verified. ``sequences`` are the sequence ids, ``highest`` the
    highest ones, 0 for a send that had none: receipts echo them, deduplication compares them.
    ``message_counts`` is how many messages each entry holds as the command said, 0 where only its
    metadata can tell. Once somebody asked for its traits, a run is not changed any more.
    """

    producer_id: int
    sequences: list[int]
    data: list[bytes]
    checksums: list[int]
    message_counts: list[int]
    highest: list[int]
    size_bytes: int = field(init=False, repr=False, compare=False)
    """Of all entries."""
    message_count: int = field(init=False, repr=False, compare=False)
    """Of all entries, as the commands said: Pulsar's counters go by it."""
    _traits: EntryTraits | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.size_bytes = sum(map(len, self.data))
        self.message_count = sum(self.message_counts)

    def __len__(self) -> int:
        return len(self.data)

    def extend(self, following: "SendRun") -> None:
        """Let a run of the same producer become the end of this one."""
        self.sequences += following.sequences
        self.data += following.data
        self.checksums += following.checksums
        self.message_counts += following.message_counts
        self.highest += following.highest
        self.size_bytes += following.size_bytes
        self.message_count += following.message_count

    @property
    def traits(self) -> EntryTraits:
        """What the entries are; they are looked at once."""
        if self._traits is None:
            self._traits = traits_of(self.data, self.message_counts)
        return self._traits

    def parted(self, apart: Mapping[int, T]) -> Iterator[tuple[T | None, "SendRun"]]:
        """The run in pieces: sends whose index has the same value, None for those without."""
        for value, indexes in groupby(range(len(self)), apart.get):
            found = list(indexes)
            yield value, self.part(found[0], found[-1] + 1)

    def part(self, start: int, stop: int) -> "SendRun":
        """Sends ``start`` to ``stop`` - 1, to be stored or answered apart from the others."""
        part = SendRun(
            self.producer_id,
            self.sequences[start:stop],
            self.data[start:stop],
            self.checksums[start:stop],
            self.message_counts[start:stop],
            self.highest[start:stop],
        )
        part._traits = None if self._traits is None else self._traits.part(start, stop)
        return part
