"""The settings of a ledger store on BookKeeper."""

from dataclasses import field

from magnetar.late_dataclass import dataclass
from magnetar.storage.ledger.store import LedgerOptions

from .client_tls import TlsSettings
from .ledger_metadata import DigestType
from .placement import PlacementRule


@dataclass(frozen=True, slots=True, kw_only=True)
class BookKeeperSettings:
    """How ledgers are written to bookies, and read; Pulsar's defaults."""

    ledgers_root: str = "/ledgers"
    ensemble_size: int = 2  # managedLedgerDefaultEnsembleSize
    write_quorum: int = 2  # managedLedgerDefaultWriteQuorum
    ack_quorum: int = 2  # managedLedgerDefaultAckQuorum
    digest_type: DigestType = DigestType.CRC32C  # managedLedgerDigestType
    password: bytes = b""  # managedLedgerPassword
    add_timeout_s: float = 30.0  # bookkeeperClientTimeoutInSeconds
    read_timeout_s: float = 30.0
    recovery_timeout_s: float = 10.0  # For each request of a recovery.
    speculative_read_s: float = 2.0  # bookkeeperClientSpeculativeReadTimeoutInMillis
    silent_s: float = 0.4
    """A bookie that answers nothing for so long, while entries wait for it, is replaced."""
    quarantine_s: float = 10.0
    """A bookie that failed is avoided for so long."""
    tls: TlsSettings | None = None  # None: connections are plain.
    placement: PlacementRule = field(default_factory=PlacementRule)
    pending_bytes_max: int = 64 * 1024 * 1024  # Appended and not yet answered; then appends wait.

    def sizes(self, options: LedgerOptions) -> tuple[int, int, int]:
        """Ensemble size, write quorum and ack quorum of a new ledger."""
        return (
            options.ensemble_size or self.ensemble_size,
            options.write_quorum or self.write_quorum,
            options.ack_quorum or self.ack_quorum,
        )
