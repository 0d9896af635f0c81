"""Runs of acknowledgements. Pure."""

from magnetar.late_dataclass import dataclass


@dataclass(slots=True)
class AckRun:
    """Individual acknowledgements of one consumer that came together: entry ids by ledger.

    Never empty. The ids are in the order of the wire, and what a client named twice is in twice.
    """

    consumer_id: int
    entry_ids: dict[int, list[int]]
