"""Appending for whoever waits for each append. A log goes on meanwhile, and is told."""

import asyncio

from magnetar.errors import StorageError
from magnetar.storage.ledger.store import LedgerWriter


async def append_durably(writer: LedgerWriter, data: list[bytes], checksums: list[int]) -> int:
    """Append, and return the first entry's id when all are durable. Raises what is answered."""
    if writer.over_limit:
        await writer.wait_for_capacity()
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def answered(first: int, error: StorageError | None) -> None:
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(first)
        else:
            answer.set_exception(error)

    writer.append(data, checksums, answered)
    return await answer
