"""What the managed ledgers of a broker share: stores, memory, time and tasks."""

from dataclasses import field

from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.storage.codec.codec import Codec
from magnetar.storage.ledger.offloader import Offloader
from magnetar.storage.ledger.store import LedgerStore
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.cursor_saver import CursorSaver
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata.store import MetadataStore
from magnetar.tasks import Tasks


@dataclass(kw_only=True, slots=True)
class LogContext:
    """One value for all parts of all logs."""

    metadata: MetadataStore
    ledgers: LedgerStore
    codec: Codec
    cache: EntryCache
    clock: Clock
    tasks: Tasks
    settings: ManagedLedgerSettings = field(default_factory=ManagedLedgerSettings)
    offloader: Offloader | None = None
    saver: CursorSaver = field(init=False)
    """Saves the cursors of all of them."""

    def __post_init__(self) -> None:
        interval_s = self.settings.cursor_save_interval_s
        self.saver = CursorSaver(self.tasks, self.clock, interval_s=interval_s)
