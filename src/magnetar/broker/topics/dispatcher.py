"""What a subscription asks of its dispatcher: the loop that reads entries and deals them out.

A dispatcher works in turns. ``wake`` says that there may be something to do; the turn then runs as
far as entries in memory go, at once and without a task, and only waits for the disk in a task.
"""

import logging
from collections.abc import Sequence
from typing import Final, Protocol

from magnetar.broker.topics.consumer import Consumer, entry_ids_of
from magnetar.clock import Clock
from magnetar.errors import StorageError
from magnetar.model.policies import Policies
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun

log = logging.getLogger(__name__)

READ_RETRY_S: Final = 15.0
"""How long a subscription waits before it tries again to read what could not be read."""


class Dispatcher(Protocol):
    """Reads at a cursor and delivers to consumers, until it is closed."""

    @property
    def active(self) -> Consumer | None:
        """The one consumer that is served, where the subscription type has such a one."""

    def join(self, consumer: Consumer) -> None:
        """A consumer came. Raises ConsumerAssignFailed (Key_Shared) and changes nothing then."""

    def leave(self, consumer: Consumer) -> None:
        """A consumer went; what it held goes to the others."""

    def wake(self) -> None:
        """There may be something to deliver: entries, permits, or a client that reads again."""

    def flowed(self, consumer: Consumer) -> None:
        """A consumer got permits."""

    def acknowledged(self, consumer: Consumer, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """These entries are acknowledged as a whole."""

    def acknowledged_part(self, consumer: Consumer, position: Position, pending: int) -> None:
        """A batch is acknowledged in part; ``pending`` messages are not."""

    def redeliver(self, consumer: Consumer, positions: Sequence[Position] | None) -> None:
        """The consumer wants these again; None: all it holds."""

    def apply(self, policies: Policies) -> None:
        """These limits hold from now on."""

    def close(self) -> None:
        """Deliver nothing more. A read under way is dropped."""


def ack_sets_of(
    cursor: Cursor, run: EntryRun, picked: Sequence[int] | None = None
) -> list[list[int]] | None:
    """The batch-index acknowledgements of a run, or of what is picked of it, parallel to it.

    None when there are none.
    """
    if not cursor.has_batch_acks:
        return None
    found = [
        cursor.ack_set(Position(run.ledger_id, entry)) or [] for entry in entry_ids_of(run, picked)
    ]
    return found if any(found) else None


async def read_failed(cursor: Cursor, error: StorageError, clock: Clock) -> None:
    """Say so, and wait before the next try. Nothing is skipped: that is what a seek is for."""
    log.error(
        "subscription.read_failed cursor=%s position=%s error=%s remedy=%s",
        cursor.name,
        cursor.read_position,
        error,
        "restore the file, or seek the subscription beyond this position",
    )
    await clock.sleep(READ_RETRY_S)
