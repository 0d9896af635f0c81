"""What a persistent topic has stored, for who reads it by position: no subscription notices.

An operator may also let a subscription have some of it again, or take it out of a backlog.
"""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from magnetar.broker.topics.log import log_positions
from magnetar.broker.topics.log.termination import TERMINATED_AT
from magnetar.broker.topics.publishing.producer_access import TOPIC_EPOCH
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.broker.topics.transaction_logs import OURS
from magnetar.clock import Clock
from magnetar.errors import NotAllowed
from magnetar.late_dataclass import dataclass
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.info import ManagedLedgerInfo
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.run import EntryRun

_OURS: Final = frozenset({TOPIC_EPOCH, TERMINATED_AT})
"""What the broker keeps among the properties of a log; they are none of its users'."""


@dataclass(frozen=True, slots=True)
class TopicLog:
    """The log of one topic. What reads and what changes it raises what the stores raise."""

    ledger: ManagedLedger
    clock: Clock
    transactions: TransactionBuffer | None = None

    def info(self) -> ManagedLedgerInfo:
        """The managed ledger: the topic's ledgers and cursors."""
        return self.ledger.info()

    @property
    def entry_count(self) -> int:
        return self.ledger.entry_count

    @property
    def first(self) -> Position:
        """The oldest entry there is; ``end`` where there is none."""
        return self.ledger.layout.first

    @property
    def last_visible(self) -> Position:
        """The newest entry that readers may see."""
        return self.ledger.last_visible

    @property
    def end(self) -> Position:
        """The place after the newest entry that readers may see."""
        return self.ledger.next_position(self.ledger.last_visible)

    async def read(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """A run at ``position`` or at the first entry after it; None where there is none.

        It has one entry at least, and none of an aborted transaction. Neither is it read ahead, nor
        does it take room in a cache.
        """
        last = self.ledger.last_visible
        while position <= last:
            run = await self.ledger.read_uncached(position, entries_max, bytes_max)
            if run is None or run.first > last:
                return None
            if run.last > last:
                run = run.part(0, last.entry_id + 1 - run.first_entry_id)
            shown = [run] if self.transactions is None else self.transactions.shown(run)
            if shown:
                return shown[0]
            position = self.ledger.next_position(run.last)
        return None

    async def compacted(
        self, last: Position, entries_max: int, bytes_max: int
    ) -> AsyncIterator[EntryRun]:
        """What compaction left, and all that was stored after it, up to ``last``: run by run."""
        reader, position = self.ledger.compacted_reader(), EARLIEST
        while position <= last:
            run = await reader.read_uncached(position, entries_max, bytes_max)
            if run is None or run.first > last:
                return
            if run.last > last:
                run = run.part(0, last.entry_id + 1 - run.first_entry_id)
            for shown in [run] if self.transactions is None else self.transactions.shown(run):
                yield shown
            position = Position(run.ledger_id, run.last_entry_id + 1)

    async def entry(self, position: Position) -> bytes | None:
        """What is stored at a position, of whatever transaction; None where there is nothing."""
        run = await self.ledger.read_uncached(position, 1, 1)
        return run.data[0] if run is not None and run.first == position else None

    def is_aborted(self, position: Position) -> bool:
        """Whether an entry is of a transaction that was aborted."""
        transactions = self.transactions
        return transactions is not None and transactions.first_aborted(position) is not None

    async def last_message_id(self, *, compacted: bool = False) -> tuple[Position, int]:
        """The last entry, and the index of its last message (-1 outside a batch).

        ``EARLIEST`` when nothing is stored. ``compacted``: as compaction left the log.
        """
        return await log_positions.last_message_id(
            self.ledger, self.transactions, compacted=compacted
        )

    def last_entry_id(self, ledger_id: int) -> int | None:
        """The last entry of one of its ledgers: -1 when it is empty; None: it is not in the log."""
        return self.ledger.layout.last_entry_id(ledger_id)

    def entry_at(self, index: int) -> Position:
        """The entry that has so many before it; the first or last where there is none.

        ``end`` where nothing is stored.
        """
        count = self.ledger.entry_count
        return self.ledger.layout.position_at(min(max(index, 0), count - 1)) if count else self.end

    async def position_at(self, publish_time_ms: int) -> Position:
        """The first entry published then or later; ``end`` where none was."""
        return await log_positions.position_at(self.ledger, publish_time_ms)

    def back(self, position: Position, count: int) -> Position:
        """The entry that lies ``count`` entries before a position; the first where there is none.

        ``end`` where nothing is stored.
        """
        layout = self.ledger.layout
        before = layout.entries_before(position)
        return layout.position_at(max(before - count, 0)) if before else layout.first

    def entries_between(self, start: Position, stop: Position) -> int:
        """How many entries there are from ``start`` to before ``stop``."""
        layout = self.ledger.layout
        return max(layout.entries_before(stop) - layout.entries_before(start), 0)

    def next_position(self, position: Position) -> Position:
        """The entry after a position; ``end`` where there is none."""
        return self.ledger.next_position(position)

    def pending(self, subscription: PersistentSubscription, position: Position) -> list[int] | bool:
        """Whether an entry is not acknowledged yet; of a batch in part, the ack set."""
        cursor = subscription.cursor
        return not cursor.is_acknowledged(position) and (cursor.ack_set(position) or True)

    async def unacknowledged(
        self, subscription: PersistentSubscription, index: int
    ) -> Position | None:
        """The entry that has so many of a backlog before it; None where there is none."""
        cursor = subscription.cursor
        if index >= cursor.backlog:
            return None
        return await log_positions.position_behind(self.ledger, cursor, index + 1, self.clock)

    def acknowledge(
        self,
        subscription: PersistentSubscription,
        positions: Sequence[Position],
        parts: Sequence[tuple[Position, list[int]]] = (),
    ) -> None:
        """Acknowledge entries, delivered or not; of batches, the messages in ``parts``."""
        its = subscription
        for position, words in parts:
            its.cursor.acknowledge_batch(position, words)
        for ledger_id, here in groupby(sorted(positions), itemgetter(0)):
            its.cursor.acknowledge_entries(ledger_id, [entry_id for _, entry_id in here])
        its.forget_acknowledged()

    async def replay(
        self, subscription: PersistentSubscription, positions: Sequence[Position]
    ) -> None:
        """Let a subscription have these entries, which ascend, once more.

        Its consumers are closed, and come back. What else is acknowledged stays so. Raises Fenced
        while another seek is under way.
        """
        await subscription.replay(positions)

    def size_from(self, position: Position) -> int:
        """About how many bytes lie at ``position`` and after it."""
        return self.ledger.layout.size_after(Position(position.ledger_id, position.entry_id - 1))

    async def trim(self, *, retained: bool = False) -> None:
        """Delete the ledgers that no subscription needs, and that are not to be ``retained``."""
        await self.ledger.trim(retained=retained)

    @property
    def properties(self) -> Mapping[str, str]:
        """What its users have noted about the topic."""
        return {name: value for name, value in self.ledger.properties.items() if not _ours(name)}

    async def change_properties(
        self, changed: Mapping[str, str], removed: Collection[str] = ()
    ) -> None:
        """Set and remove such notes, durably. Raises NotAllowed for one of the broker's own."""
        for name in (*changed, *removed):
            if _ours(name):
                raise NotAllowed(f"The property {name} of a topic is kept by the broker itself")
        await self.ledger.change_properties(changed, removed)


def _ours(name: str) -> bool:
    return name in _OURS or name.startswith(OURS)
