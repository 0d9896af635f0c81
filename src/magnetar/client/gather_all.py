"""Several coroutines at once, each of which runs to its end."""

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from magnetar.errors import NotStored

T = TypeVar("T")


async def gather_all(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at the same time, and return their results in order.

    Raises the first error, but not before every other has ended. Cancelled, it cancels all.
    """
    work = list(work)
    if len(work) == 1:  # This is the usual case, and needs no task.
        return [await work[0]]
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    results: list[T] = []
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
        results.append(outcome)
    return results


async def close_all(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Close all at the same time, each to its end.

    Raises one NotStored for all messages that were lost, or else the first error.
    """
    outcomes = await asyncio.gather(*work, return_exceptions=True)
    lost = [outcome for outcome in outcomes if isinstance(outcome, NotStored)]
    if lost:
        raise lost[0] if len(lost) == 1 else NotStored("; ".join(map(str, lost)))
    for outcome in outcomes:
        if outcome is not None:
            raise outcome
