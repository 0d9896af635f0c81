"""Which of the entries that were read nobody is to get.

They are acknowledged instead: those whose metadata is corrupt, markers, and those of aborted
transactions.
"""

from collections.abc import Callable, Sequence

from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.subscriptions.consumer import entry_ids_of
from magnetar.broker.topics.subscriptions.pending_acks import PendingAcks
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.callbacks import unheard
from magnetar.message.entry_traits import EntryTraits
from magnetar.message.metadata import SNAPSHOT
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun


class EntryFilter:
    """Sorts entries out for one subscription; ``acknowledged`` is called when it did."""

    __slots__ = ("_acknowledged", "_cursor", "_state", "pending", "read_snapshot")

    def __init__(
        self, cursor: Cursor, state: StoredTopicState, acknowledged: Callable[[], None]
    ) -> None:
        self._cursor = cursor
        self._state = state
        self._acknowledged = acknowledged
        self.pending: PendingAcks | None = None
        """What transactions have acknowledged that did not end, where there ever was one."""
        self.read_snapshot: Callable[[bytes], None] | None = None
        """Gets the snapshots over clusters that are read, where the subscription is replicated."""

    def rest(self) -> None:
        """Tell nobody what was sorted out."""
        self._acknowledged = unheard

    @property
    def in_transactions(self) -> bool:
        """Whether there ever was a transaction: entries may be aborted, or pending."""
        return self.pending is not None or self._state.transactions is not None

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
        """Return the indexes of entries that consumers may get.

        Those that are pending acknowledgement are left out, and nothing else becomes of them.
        """
        hidden = {i for i, seen in traits.unusual.items() if seen is None or seen.is_marker}
        if (transactions := self._state.transactions) is not None:
            hidden |= transactions.aborted_in(run)
        hidden.intersection_update(indexes)
        if hidden:
            if self.read_snapshot is not None:
                for index in sorted(hidden):
                    seen = traits.unusual.get(index)
                    if seen is not None and seen.marker_type == SNAPSHOT:
                        self.read_snapshot(run.data[index])
            self._cursor.acknowledge_entries(
                run.ledger_id, [run.first_entry_id + index for index in sorted(hidden)]
            )
            self._acknowledged()
        if self.pending:
            hidden |= self.pending.held_in(run.ledger_id, run.first_entry_id, len(run.data))
        return [index for index in indexes if index not in hidden] if hidden else indexes

    def ack_sets(self, run: EntryRun, picked: Sequence[int] | None) -> list[list[int]] | None:
        """What is left of the batches in a run, or in what is picked of it; None: all of them."""
        pending = self.pending
        found = []
        for entry_id in entry_ids_of(run, picked):
            position = Position(run.ledger_id, entry_id)
            words = self._cursor.ack_set(position)
            found.append((words if pending is None else pending.left(position, words)) or [])
        return found if any(found) else None
