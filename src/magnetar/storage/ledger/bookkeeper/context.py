"""What all ledgers of a store share."""

from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.cluster_stores import LedgerCounts
from magnetar.storage.ledger.capacity import Capacity
from magnetar.tasks import Tasks

from .bookie_watcher import BookieWatcher
from .ledger_manager import LedgerManager
from .settings import BookKeeperSettings
from .waiting_writers import WaitingWriters


@dataclass(slots=True)
class StoreContext:
    """The shared parts of a store."""

    settings: BookKeeperSettings
    manager: LedgerManager
    bookies: BookieWatcher
    clock: Clock
    tasks: Tasks
    capacity: Capacity
    waiting: WaitingWriters  # Those of what is not confirmed.
    counts: LedgerCounts
