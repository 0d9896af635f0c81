"""One ledger store made of the logs of several processes."""

from collections.abc import Mapping

from magnetar.errors import LedgerNotFound
from magnetar.storage.ledger.store import (
    AS_THE_STORE_IS_SET,
    LedgerId,
    LedgerOptions,
    LedgerReader,
    LedgerStore,
    LedgerWriter,
)

from .directory import LedgerDirectory
from .remote import RemoteLog


class ManyLogs:
    """Creates ledgers in the log of this process, and finds those of all.

    ``own`` gives its ledgers the ids that the directory hands out. Who opened the parts closes
    them.
    """

    def __init__(
        self,
        own: LedgerStore,
        directory: LedgerDirectory,
        *,
        held: Mapping[int, LedgerStore],
        others: Mapping[int, RemoteLog],
    ) -> None:
        """``held``: the logs of this process by number, ``own`` among them; ``others`` likewise."""
        self.own = own
        self._directory = directory
        self._held = held
        self._others = others

    def held(self, ledger_id: int) -> LedgerStore | None:
        """The store of this process that a ledger is in; None: it is in none."""
        number = self._directory.log_of(ledger_id)
        return None if number is None else self._held.get(number)

    async def create(self, options: LedgerOptions = AS_THE_STORE_IS_SET) -> LedgerWriter:
        return await self.own.create(options)

    async def open(self, ledger_id: LedgerId) -> LedgerReader:
        log = self._log_of(ledger_id)
        if log is None:
            raise LedgerNotFound(f"there is no ledger {ledger_id} in any log of the data folder")
        return await log.open(ledger_id)

    async def delete(self, ledger_id: LedgerId) -> None:
        log = self._log_of(ledger_id)
        if log is not None:
            await log.delete(ledger_id)

    def _log_of(self, ledger_id: int) -> LedgerStore | RemoteLog | None:
        number = self._directory.log_of(ledger_id)
        if number is None:
            return None
        return self._held.get(number) or self._others.get(number)

    async def check(self) -> None:
        await self.own.check()

    async def close(self) -> None:
        await self.own.close()
