"""Runs of receipts. Pure."""

from magnetar.late_dataclass import dataclass


@dataclass(slots=True)
class ReceiptRun:
    """Receipts of one producer that came together, in the order of the wire. Never empty."""

    producer_id: int
    sequences: list[int]
    highest: list[int]
