"""A run: consecutive entries of one ledger, as parallel lists; what moves in the broker. Pure."""

from dataclasses import dataclass, field
from typing import Any

from magnetar.model.position import Position


@dataclass(slots=True)
class EntryRun:
    """Entries ``first_entry_id`` to ``last_entry_id`` of one ledger, never empty, never changed.

    ``weights`` is what the appender said each entry counts for (messages), 0 where nobody said:
    entries read back from disk have weight 0. ``memo`` keeps what one reader derived from the run
    for the next reader of the same run (frames for a consumer, say); it dies with the run.
    """

    ledger_id: int
    first_entry_id: int
    data: list[bytes]
    checksums: list[int]
    weights: list[int]
    memo: dict[Any, Any] = field(default_factory=dict)

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
        """Entries ``start`` to ``stop`` - 1 by index in this run; itself when that is all of it."""
        if start <= 0 and stop >= len(self.data):
            return self
        return EntryRun(
            self.ledger_id,
            self.first_entry_id + start,
            self.data[start:stop],
            self.checksums[start:stop],
            self.weights[start:stop],
        )
