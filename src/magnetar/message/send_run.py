"""A run of sends: what one producer sent in one read of its socket, as parallel lists. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from itertools import groupby
from typing import Final, Self, TypeVar

from magnetar import inner
from magnetar.late_dataclass import dataclass

from . import metadata
from .entry import checksum
from .entry_traits import EntryTraits, traits_of

T = TypeVar("T")

OF_A_MARKER: Final = 1 << 63
"""The highest sequence id in the receipt for a marker of another cluster: Java's lowest long."""


@dataclass(slots=True)
class SendRun:
    """Consecutive sends of one producer, in the order of the wire; empty only where all are split.

    ``data`` are entries: metadata size, metadata, payload, without the checksum's 6-byte head;
    ``checksums`` their CRC32-C, verified. ``sequences`` are the sequence ids, ``highest`` the
    highest ones, 0 for a send that had none: receipts echo them, deduplication compares them.
    ``message_counts`` is how many messages each entry holds as the command said, 0 where only its
    metadata can tell. ``usual`` says that these counts are right and that no entry has anything
    that ``EntryTraits`` would tell of, and that each names the run's transaction, or none; False
    says nothing. Once somebody asked for its traits, a run is not changed any more.
    """

    producer_id: int
    sequences: list[int]
    data: list[bytes]
    checksums: list[int]
    message_counts: list[int]
    highest: list[int]
    size_bytes: int
    """The sum over all entries."""
    message_count: int
    """Messages of all entries, as the commands said: Pulsar's counters go by it."""
    usual: bool = field(compare=False)
    transaction: tuple[int, int] | None = None
    """The most and the least significant bits of the id of the one that all sends are part of."""
    _traits: EntryTraits | None = field(default=None, init=False, repr=False, compare=False)
    _sources: list[tuple[int, int] | None] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    @classmethod
    def of(  # noqa: PLR0917 - they are the lists of a run, in its order
        cls,
        producer_id: int,
        sequences: list[int],
        data: list[bytes],
        checksums: list[int],
        message_counts: list[int],
        highest: list[int],
        transaction: tuple[int, int] | None = None,
    ) -> Self:
        """Add up what a run must know of its entries."""
        sums = sum(map(len, data)), sum(message_counts)
        lists = sequences, data, checksums, message_counts, highest
        return cls(producer_id, *lists, *sums, usual=False, transaction=transaction)

    def __len__(self) -> int:
        return len(self.data)

    def goes_on_with(self, following: "SendRun") -> bool:
        """Whether a run is of the same producer, and of the same transaction or none."""
        return (
            self.producer_id == following.producer_id and self.transaction == following.transaction
        )

    def extend(self, following: "SendRun") -> None:
        """Let a run that this one goes on with become its end."""
        self.sequences += following.sequences
        self.data += following.data
        self.checksums += following.checksums
        self.message_counts += following.message_counts
        self.highest += following.highest
        self.size_bytes += following.size_bytes
        self.message_count += following.message_count
        self.usual = self.usual and following.usual

    @property
    def traits(self) -> EntryTraits:
        """What the entries are; they are looked at once."""
        if self._traits is None:
            counts = self.message_counts
            self._traits = EntryTraits(counts) if self.usual else traits_of(self.data, counts)
        return self._traits

    @property
    def sources(self) -> list[tuple[int, int] | None]:
        """Ledger and entry id of each entry where it was copied from; they are looked at once.

        None for what is no copy.
        """
        if self._sources is None:
            self._sources = inner.source_places(self.data)
        return self._sources

    def named_by_sources(self) -> "SendRun":
        """The run with these places in place of sequence ids, for receipts."""
        sources = self.sources
        sequences, highest = self.sequences.copy(), self.highest.copy()
        if sources and None not in sources:
            sequences, highest = map(list, zip(*sources, strict=True))
        else:
            for index, source in enumerate(sources):
                if source is not None:
                    sequences[index], highest[index] = source
                elif (seen := self.traits.unusual.get(index)) is not None and seen.is_marker:
                    highest[index] = OF_A_MARKER
        return replace(self, sequences=sequences, highest=highest)

    def naming_its_transaction(self) -> Self:
        """The run with metadata that names the transaction of the commands where it names none.

        Pulsar's Go client names it in the command alone (v0.19). What is stored must say it itself,
        or a consumer would be given it after an abort.
        """
        assert self.transaction is not None
        data, checksums = self.data.copy(), self.checksums.copy()
        for index, entry in enumerate(self.data):
            if metadata.transaction_of(entry) is None and index not in self.traits.corrupt:
                data[index] = metadata.with_transaction(entry, self.transaction)
                checksums[index] = checksum(data[index])
        if data == self.data:
            return self
        lists = self.sequences, data, checksums, self.message_counts, self.highest
        return self.of(self.producer_id, *lists, self.transaction)

    def split_by(self, values: Mapping[int, T]) -> Iterator[tuple[T | None, "SendRun"]]:
        """The run in pieces: sends whose index has the same value, None for those without."""
        for value, indexes in groupby(range(len(self)), values.get):
            found = list(indexes)
            yield value, self.part(found[0], found[-1] + 1)

    def part(self, start: int, stop: int) -> "SendRun":
        """Sends ``start`` to ``stop`` - 1, to be stored or answered separately from the others."""
        data, counts = self.data[start:stop], self.message_counts[start:stop]
        part = SendRun(
            self.producer_id,
            self.sequences[start:stop],
            data,
            self.checksums[start:stop],
            counts,
            self.highest[start:stop],
            sum(map(len, data)),
            sum(counts),
            self.usual,
            self.transaction,
        )
        part._traits = None if self._traits is None else self._traits.part(start, stop)
        return part
