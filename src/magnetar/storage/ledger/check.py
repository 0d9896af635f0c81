"""Whether a ledger store stores: a ledger is made, written, read and deleted."""

import asyncio
from typing import Final

from magnetar.errors import StorageError
from magnetar.inner import checksum
from magnetar.storage.ledger.store import LedgerStore

_ENTRY: Final = b"is it well?"


async def check_ledgers(ledgers: LedgerStore) -> None:
    """Return when an entry was stored durably and read again. Raises StorageError."""
    writer = await ledgers.create()
    try:
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def answered(_: int, error: StorageError | None) -> None:
            if answer.done():
                return
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)

        if writer.over_limit:
            await writer.wait_for_capacity()
        writer.append([_ENTRY], [checksum(_ENTRY)], answered)
        await answer
        found = await writer.read(0, 1, len(_ENTRY))
        if found.data != [_ENTRY]:
            raise StorageError("an entry was read that is not the one that was stored")
    finally:
        await writer.close()
        await ledgers.delete(writer.ledger_id)
