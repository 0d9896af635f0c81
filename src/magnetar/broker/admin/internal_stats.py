"""A topic's log as Pulsar shows it: how much there is, where it ends, and its cursors."""

from typing import Any, Final
from urllib.parse import quote_plus

from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

# There are no compacted ledgers.
_COMPACTED: Final = {
    "ledgerId": -1,
    "entries": -1,
    "size": -1,
    "offloaded": False,
    "underReplicated": False,
}


def internal_stats(ledger: ManagedLedger) -> dict[str, Any]:
    """Cursors are named as they are stored: encoded, blanks as ``+``."""
    return {
        "numberOfEntries": ledger.entry_count,
        "totalSize": ledger.size_bytes,
        "lastConfirmedEntry": str(ledger.last_position),
        "state": "LedgerOpened",
        "cursors": {
            quote_plus(name, safe=""): _cursor(cursor) for name, cursor in ledger.cursors.items()
        },
        "schemaLedgers": [],
        "compactedLedger": _COMPACTED,
    }


def _cursor(cursor: Cursor) -> dict[str, Any]:
    return {
        "markDeletePosition": str(cursor.mark),
        "readPosition": str(cursor.read_position),
        "numberOfEntriesSinceFirstNotAckedMessage": cursor.backlog,
        "state": "Open",
        "properties": {},
    }
