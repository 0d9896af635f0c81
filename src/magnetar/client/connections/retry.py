"""Trying again what may succeed later."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from magnetar.clock import Clock
from magnetar.errors import (
    BacklogQuotaExceeded,
    Conflict,
    MagnetarError,
    ProducerFenced,
    StorageError,
    TimedOut,
    UnknownFailure,
)

from .backoff import Backoff

T = TypeVar("T")


def worth_retrying(error: MagnetarError, *, attached_before: bool = False) -> bool:
    """Whether the same request may succeed later.

    An owner that was attached before also waits for its name or its subscription to become free:
    what holds it is most likely its own last connection, which the broker has not yet given up.
    One that is fenced has lost its topic to another for good. A producer comes back when the
    backlog that sent it away is gone.
    """
    if isinstance(error, BacklogQuotaExceeded) and attached_before:
        return True
    if isinstance(error, Conflict):
        return attached_before and not isinstance(error, ProducerFenced)
    return error.retriable or isinstance(error, StorageError | UnknownFailure)


async def retry(
    attempt: Callable[[], Awaitable[T]],
    *,
    limit: asyncio.Timeout,
    timed_out: str,
    backoff: Backoff,
    clock: Clock,
) -> T:
    """Repeat ``attempt`` until it succeeds, within the time ``limit``.

    Raises its error when trying again will not help, and its last error, with ``timed_out`` in its
    text, when the time is up; TimedOut when there was none. Cancellation safe.
    """
    last: MagnetarError | None = None
    try:
        async with limit:
            while True:
                try:
                    return await attempt()
                except MagnetarError as error:
                    if not worth_retrying(error):
                        raise
                    last = error
                await clock.sleep(backoff.next_s())
    except TimeoutError:
        if last is None:
            raise TimedOut(timed_out) from None
        raise type(last)(f"{last}; {timed_out}") from last.__cause__
