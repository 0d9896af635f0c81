"""What ``LedgerWriter.put`` answers, for all ledger stores."""

import asyncio
from collections.abc import Callable

from magnetar.errors import LedgerFenced, StorageError

from .store import Answered


async def answer_to(put: Callable[[Answered], None]) -> int:
    """Put, and wait: the first entry's id. Raises what was answered. Cancelling takes back nothing.

    Takes a ``put`` that lacks nothing but whom to answer.
    """
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def answered(first: int, error: StorageError | None) -> None:
        if answer.done():
            return
        if error is None:
            answer.set_result(first)
        else:
            answer.set_exception(error)

    put(answered)
    return await answer


def fenced(ledger_id: int, because: str) -> LedgerFenced:
    """The answer of a ledger that is closed for appends."""
    return LedgerFenced(f"ledger {ledger_id} takes no more entries: {because}")
