"""The metadata of ledgers, as records in a metadata store: BookKeeper's LedgerManager.

Whatever changes it is a decision on what was read, and holds only where nothing has changed since:
a version that is not the expected one is read again, and decided again.
"""

from collections.abc import Callable
from typing import NamedTuple

from magnetar.errors import LedgerNotFound, VersionMismatch
from magnetar.storage.ledger.store import LedgerId
from magnetar.storage.metadata.store import ABSENT

from .ledger_ids import LedgerIds, NumberingStore
from .ledger_metadata import LedgerMetadata
from .ledger_paths import path_of
from .metadata_format import decode_ledger, encode_ledger


class Stored(NamedTuple):
    """A ledger's metadata and the version of their record."""

    metadata: LedgerMetadata
    version: int


class LedgerManager:
    """The ledgers below one root."""

    def __init__(
        self,
        metadata: NumberingStore,
        root: str,
    ) -> None:
        self._metadata = metadata
        self._ids = LedgerIds(metadata, root)
        self._root = root

    def path(self, ledger_id: int) -> str:
        """Where its metadata is."""
        return self._root + path_of(ledger_id)

    async def create(self, metadata: LedgerMetadata) -> tuple[LedgerId, Stored]:
        """Store the metadata of a new ledger."""
        value = encode_ledger(metadata)
        while True:
            ledger_id = await self._ids.next()
            try:
                version = await self._metadata.put(
                    self.path(ledger_id), value, expected_version=ABSENT
                )
            except VersionMismatch:
                continue  # A broker of Pulsar's may have given the id meanwhile.
            return LedgerId(ledger_id), Stored(metadata, version)

    async def read(self, ledger_id: int) -> Stored:
        """The metadata of a ledger. Raises LedgerNotFound, and InvalidValue for what is none."""
        record = await self._metadata.get(self.path(ledger_id))
        if record is None:
            raise LedgerNotFound(f"there is no ledger {ledger_id} in {self._root}")
        return Stored(decode_ledger(record.value), record.version)

    async def update(
        self,
        ledger_id: int,
        stored: Stored,
        change: Callable[[LedgerMetadata], LedgerMetadata | None],
    ) -> Stored:
        """Store what ``change`` makes of the metadata, which begin as ``stored``.

        ``change`` says None where there is nothing to change, and may raise. Raises as ``read``.
        """
        while True:
            changed = change(stored.metadata)
            if changed is None:
                return stored
            try:
                version = await self._metadata.put(
                    self.path(ledger_id), encode_ledger(changed), expected_version=stored.version
                )
            except VersionMismatch:
                stored = await self.read(ledger_id)
            else:
                return Stored(changed, version)

    async def delete(self, ledger_id: int) -> None:
        """Delete the metadata; the bookies find that out. A ledger that is not there is fine."""
        await self._metadata.delete(self.path(ledger_id))
