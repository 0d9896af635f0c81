"""The contract of an offloader: it keeps copies of sealed ledgers elsewhere, and reads them."""

from collections.abc import Mapping
from typing import Final, Protocol

from .store import LedgerEntries, LedgerReader

OPTION: Final = "option."
"""What begins the names of those properties that are options of the place."""


class Offloader(Protocol):
    """Keeps copies of ledgers.

    A copy is found by its ``properties``, which are recorded: ``url`` and options of the place, the
    ``name`` of the copy there, ``topic`` and ``partition``. ``secrets`` are not recorded.
    Everything raises StorageError.
    """

    async def offload(
        self, ledger: LedgerReader, properties: Mapping[str, str], secrets: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Copy a ledger, and verify the copy. Returns what more is to be recorded of it.

        When this raises, or is cancelled, there may be a part of a copy: ``delete`` it.
        """

    async def read(
        self,
        properties: Mapping[str, str],
        secrets: Mapping[str, str],
        *,
        first: int,
        count_max: int,
        bytes_max: int,
    ) -> LedgerEntries:
        """Read entries, as ``LedgerReader.read`` does."""

    async def delete(self, properties: Mapping[str, str], secrets: Mapping[str, str]) -> None:
        """Delete a copy, or what there is of one. It need not be there."""
