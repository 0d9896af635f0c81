"""Which of the entries that were read nobody is to get.

They are acknowledged instead: those whose metadata is corrupt, markers, and those of aborted
transactions.
"""

from collections.abc import Callable, Sequence

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.message.entry_traits import EntryTraits
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun


class EntryFilter:
    """Sorts entries out for one subscription; ``acknowledged`` is called when it did."""

    __slots__ = ("_acknowledged", "_cursor", "_state")

    def __init__(
        self, cursor: Cursor, state: StoredTopicState, acknowledged: Callable[[], None]
    ) -> None:
        self._cursor = cursor
        self._state = state
        self._acknowledged = acknowledged

    @property
    def looks_at_all(self) -> bool:
        """Whether it may be that nobody is to get an entry that looks like any other."""
        transactions = self._state.transactions
        return transactions is not None and bool(transactions.aborted)

    def uncommitted(self, now_ms: int) -> Blocked | None:
        """Why readers see no further than they do; None where they see everything."""
        transactions = self._state.transactions
        if transactions is None or (oldest := transactions.oldest) is None:
            return None
        transaction, its = oldest
        held_s = max(now_ms - its.since_ms, 0) / 1000
        return Blocked(
            Why.NOT_COMMITTED, held_s=held_s, transaction=str(transaction), producer=its.producer
        )

    def deliverable(
        self, run: EntryRun, traits: EntryTraits, indexes: Sequence[int]
    ) -> Sequence[int]:
        """Return the indexes of entries that consumers may get."""
        hidden = {i for i, seen in traits.unusual.items() if seen is None or seen.is_marker}
        if (transactions := self._state.transactions) is not None:
            hidden |= transactions.aborted_in(run)
        hidden.intersection_update(indexes)
        if not hidden:
            return indexes
        self._cursor.acknowledge_entries(
            run.ledger_id, [run.first_entry_id + index for index in sorted(hidden)]
        )
        self._acknowledged()
        return [index for index in indexes if index not in hidden]
