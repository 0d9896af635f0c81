"""A run: consecutive entries of one ledger, as parallel lists. The broker moves runs. Pure."""

from collections.abc import Sequence
from dataclasses import field
from typing import ClassVar, Protocol, Self

from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position


class Traits(Protocol):
    """What the appender of a run knows of its entries.

    Storage cannot read it. It keeps it beside the run, and has it cut and joined as the run is.
    """

    def part(self, start: int, stop: int) -> Self:
        """Return the traits of entries ``start`` to ``stop`` - 1, by index."""

    def joined(self, following: Sequence[Self]) -> Self:
        """Join these traits and those of the runs that follow to the traits of one run."""


@dataclass(slots=True)
class EntryRun:
    """Entries ``first_entry_id`` to ``last_entry_id`` of one ledger, never empty, never changed.

    ``traits`` is None after a read from disk, until the first who parses the entries sets it for
    all who share the run.
    """

    id_step: ClassVar[int] = 1
    """From the id of one entry to the next."""
    ledger_id: int
    first_entry_id: int
    data: list[bytes]
    checksums: list[int]
    traits: Traits | None = None
    size_bytes: int = -1
    """The bytes of all entries; they are added up where this is not given."""
    parts: "dict[tuple[int, int, int], EntryRun] | None" = field(
        default=None, repr=False, compare=False
    )
    """The parts that were asked for, by what was asked. Only the cache uses it."""

    def __post_init__(self) -> None:
        if self.size_bytes < 0:
            self.size_bytes = sum(map(len, self.data))

    def __len__(self) -> int:
        return len(self.data)

    @property
    def last_entry_id(self) -> int:
        return self.first_entry_id + len(self.data) - 1

    @property
    def first(self) -> Position:
        return Position(self.ledger_id, self.first_entry_id)

    @property
    def last(self) -> Position:
        return Position(self.ledger_id, self.last_entry_id)

    def part(self, start: int, stop: int) -> "EntryRun":
        """Return entries ``start`` to ``stop`` - 1, by index; the run itself when that is all."""
        if start <= 0 and stop >= len(self.data):
            return self
        return EntryRun(
            self.ledger_id,
            self.first_entry_id + start,
            self.data[start:stop],
            self.checksums[start:stop],
            None if self.traits is None else self.traits.part(start, stop),
        )
