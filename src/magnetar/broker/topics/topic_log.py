"""What a persistent topic has stored, for who reads it by position: no subscription notices.

An operator may also let a subscription have some of it again, or take it out of a backlog.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from magnetar.broker.topics import log_positions
from magnetar.broker.topics.subscription import Subscription
from magnetar.broker.topics.topic_upkeep import own
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.managed_ledger.run import EntryRun


@dataclass(frozen=True, slots=True)
class TopicLog:
    """The log of one topic. What reads and what changes it raises what the stores raise."""

    ledger: ManagedLedger

    @property
    def first(self) -> Position:
        """The oldest entry there is; ``end`` where there is none."""
        return self.ledger.layout.first

    @property
    def end(self) -> Position:
        """The place after the newest entry."""
        return self.ledger.layout.end

    async def read(self, position: Position, entries_max: int, bytes_max: int) -> EntryRun | None:
        """A run at ``position`` or at the first entry after it; None where there is none.

        It has one entry at least. Neither is it read ahead, nor does it take room in a cache.
        """
        return await self.ledger.read_apart(position, entries_max, bytes_max)

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

    def left(self, subscription: Subscription, position: Position) -> list[int] | bool:
        """Whether an entry is not acknowledged yet; of a batch in part, the ack set."""
        cursor = own(subscription).cursor
        return not cursor.is_acknowledged(position) and (cursor.ack_set(position) or True)

    def take(self, subscription: Subscription, positions: Sequence[Position]) -> None:
        """Acknowledge entries, whoever holds them or waits for them."""
        its = own(subscription)
        for ledger_id, here in groupby(sorted(positions), itemgetter(0)):
            its.cursor.acknowledge_entries(ledger_id, [entry_id for _, entry_id in here])
        if its.dispatch is not None:
            its.dispatch.passed_over()

    async def replay(self, subscription: Subscription, positions: Sequence[Position]) -> None:
        """Let a subscription have these entries, which ascend, once more.

        Its consumers are closed, and come back. What else is acknowledged stays so. Raises Fenced
        while another seek is under way.
        """
        await own(subscription).replay(positions)
