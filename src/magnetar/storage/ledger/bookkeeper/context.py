"""What all ledgers of a store share."""

from dataclasses import dataclass, field
from typing import Protocol

from magnetar.clock import Clock
from magnetar.storage.ledger.capacity import Capacity
from magnetar.tasks import Tasks

from .bookie_watcher import BookieWatcher
from .ledger_manager import LedgerManager
from .settings import BookKeeperSettings


class Waiting(Protocol):
    """A writer that waits for bookies."""

    def look(self, now: float) -> None:
        """Give up bookies that leave entries waiting for too long."""


@dataclass(slots=True)
class StoreContext:
    """The shared parts of a store."""

    settings: BookKeeperSettings
    manager: LedgerManager
    bookies: BookieWatcher
    clock: Clock
    tasks: Tasks
    capacity: Capacity
    waiting: set[Waiting] = field(default_factory=set)  # Writers of what is not confirmed.
