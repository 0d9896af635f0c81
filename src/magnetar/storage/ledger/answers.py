"""What a ledger that takes no more entries answers, for all ledger stores."""

from magnetar.errors import LedgerFenced


def fenced(ledger_id: int, because: str) -> LedgerFenced:
    """The answer of a ledger that is closed for appends."""
    return LedgerFenced(f"ledger {ledger_id} takes no more entries: {because}")
