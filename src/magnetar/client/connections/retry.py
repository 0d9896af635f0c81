"""Trying again what may succeed later."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from magnetar.clock import Clock
from magnetar.errors import Conflict, MagnetarError, StorageError, TimedOut, UnknownFailure

from .backoff import Backoff

T = TypeVar("T")


def worth_retrying(error: MagnetarError, *, attached_before: bool = False) -> bool:
    """Whether the same request may succeed later.

    An owner that was attached before also waits for its name or its subscription to become free:
    what holds it is most likely its own last connection, which the broker has not yet given up.
    """
    if isinstance(error, Conflict):
        return attached_before
    return error.retriable or isinstance(error, StorageError | UnknownFailure)


async def retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    timeout_s: float,
    timed_out: str,
    backoff: Backoff,
    clock: Clock,
) -> T:
    """Repeat ``attempt`` until it succeeds, for at most ``timeout_s`` seconds.

    Raises its error when trying again will not help, and its last error when the time is up;
    TimedOut(``timed_out``) when there was none. Cancellation safe.
    """
    last: MagnetarError = TimedOut(timed_out)
    try:
        async with asyncio.timeout(timeout_s):
            while True:
                try:
                    return await attempt()
                except MagnetarError as error:
                    if not worth_retrying(error):
                        raise
                    last = error
                await clock.sleep(backoff.next_s())
    except TimeoutError:
        raise last from None
