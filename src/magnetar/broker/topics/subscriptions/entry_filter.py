"""Which of the entries that were read nobody is to get: they are acknowledged instead."""

from collections.abc import Sequence

from magnetar.message.entry_traits import EntryTraits
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun


class EntryFilter:
    """Looks at the unusual entries of a run for one subscription."""

    __slots__ = ("_cursor",)

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor

    def deliverable(
        self, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> Sequence[int]:
        """Acknowledge entries whose metadata is corrupt, and return the others."""
        corrupt = traits.corrupt.intersection(indexes)
        if not corrupt:
            return indexes
        self._cursor.acknowledge_entries(
            run.ledger_id, [run.first_entry_id + index for index in sorted(corrupt)]
        )
        return [index for index in indexes if index not in corrupt]
