"""What a cursor asks about entries that it is to pass over."""

from typing import Protocol

from magnetar.storage.managed_ledger.entry_ranges import Range


class Kept(Protocol):
    """Entries that whoever reads with a cursor keeps for later, and will ask for by itself."""

    def end_of(self, ledger_id: int, entry_id: int) -> int | None:
        """The last of the consecutive entries kept from ``entry_id`` on; None: it is not kept."""

    def gaps(self, ledger_id: int, first: int, last: int) -> list[Range]:
        """Which of entries ``first`` to ``last`` are not kept."""
