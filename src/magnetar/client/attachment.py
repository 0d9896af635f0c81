"""Keeps one producer or one consumer attached to the broker that owns its topic.

The owner gives a coroutine that attaches it to a connection. The attachment finds the broker,
connects, calls it, and when the connection or the broker lets go, does so again: after 100 ms,
200 ms, and so on to a minute, until it works, the owner closes, or the broker says never.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.clock import Clock
from magnetar.errors import (
    Conflict,
    ConnectionLost,
    MagnetarError,
    NotAllowed,
    StorageError,
    TimedOut,
    UnknownFailure,
)
from magnetar.tasks import Tasks

from .backoff import Backoff
from .connection import Connection
from .lookup import Lookup

log = logging.getLogger(__name__)

# An attachment that ends sooner does not start the delays over: whoever is let in and thrown out
# again at once (an entry that the broker cannot store, sent again each time) comes more seldom.
STABLE_S: Final = 10.0


def worth_retrying(error: MagnetarError, *, attached_before: bool) -> bool:
    """Whether the same request may succeed later.

    Who was attached before also waits for a name or a subscription to become free: what holds it
    is most likely its own last connection, which the broker has not yet given up.
    """
    if isinstance(error, Conflict):
        return attached_before
    return error.retriable or isinstance(error, StorageError | UnknownFailure)


class Attachment:
    """The tie between one owner and its broker. One of: attached, attaching, failed, closed."""

    connection: Connection | None  # Invariant: set exactly while the owner is attached.
    failure: MagnetarError | None  # Why it is over, once no further try is made.

    def __init__(
        self,
        topic: str,
        attach: Callable[[Connection], Awaitable[None]],
        failed: Callable[[MagnetarError], None],
        *,
        refused: Callable[[MagnetarError], None] | None = None,
        lookup: Lookup,
        backoff: Backoff,
        clock: Clock,
        owner: str,
    ) -> None:
        """``attach`` may be cancelled and must then leave nothing behind at the broker.

        ``refused`` is called each time a lost attachment could not be restored yet, ``failed``
        once, when it never will be.
        """
        self.connection = None
        self.failure = None
        self._topic = topic
        self._attach = attach
        self._failed = failed
        self._refused = refused
        self._lookup = lookup
        self._backoff = backoff
        self._clock = clock
        self._owner = owner
        self._tasks = Tasks(owner)
        self._attached = asyncio.Event()
        self._since = 0.0  # When it was attached last.
        self._held = False
        self._restoring = False
        self._attaching_to: Connection | None = None
        self._lost_while_attaching = False

    async def start(self, timeout_s: float) -> None:
        """Attach for the first time, trying again for at most ``timeout_s`` seconds.

        Raises the broker's error, or the last one seen when time runs out. Cancellation safe.
        """
        last: MagnetarError = TimedOut(f"{self._owner} was not attached within {timeout_s:g} s")
        try:
            async with asyncio.timeout(timeout_s):
                while True:
                    try:
                        await self._once()
                    except MagnetarError as error:
                        if not worth_retrying(error, attached_before=False):
                            raise
                        last = error
                    else:
                        self._backoff.reset()
                        return
                    await self._clock.sleep(self._backoff.next_s())
        except TimeoutError:
            raise last from None

    async def attached(self) -> Connection:
        """The connection, as soon as there is one. Raises what ended the attachment."""
        while self.connection is None:
            if self.failure is not None:
                raise self.failure
            self._attached.clear()
            await self._attached.wait()
        return self.connection

    def lost(self, connection: Connection) -> None:
        """The owner noticed, or was told, that ``connection`` serves it no longer."""
        if self._attaching_to is connection:
            self._lost_while_attaching = True
        if self.connection is not connection:
            return
        self.connection = None
        if self._clock.now() - self._since >= STABLE_S:
            self._backoff.reset()
        if not self._held:
            self._restore()

    def hold(self) -> None:
        """Do not attach again until ``release``: the owner is about to be thrown out on purpose."""
        self._held = True

    def release(self) -> None:
        """Attach again, at once when the connection was lost in the meantime."""
        self._held = False
        if self.connection is None and self.failure is None:
            self._restore(at_once=True)

    async def close(self, reason: str) -> None:
        """Stop trying. Whoever waits in ``attached`` gets NotAllowed(``reason``)."""
        self._end(NotAllowed(reason))
        await self._tasks.close()

    def _restore(self, *, at_once: bool = False) -> None:
        if self.failure is None and not self._restoring:
            self._restoring = True
            self._tasks.spawn("attach", self._again(at_once=at_once))

    async def _again(self, *, at_once: bool) -> None:
        try:
            while self.failure is None and not self._held:
                if not at_once:
                    await self._clock.sleep(self._backoff.next_s())
                at_once = False
                try:
                    await self._once()
                except MagnetarError as error:
                    if not worth_retrying(error, attached_before=True):
                        log.warning("client.detached owner=%s error=%s", self._owner, error)
                        self._end(error)
                        self._failed(error)
                        return
                    log.info("client.attach_failed owner=%s error=%s", self._owner, error)
                    if self._refused is not None:
                        self._refused(error)
                else:
                    log.info("client.attached owner=%s", self._owner)
                    return
        except Exception as error:
            # A mistake of ours: the owner must hear of it, not wait for ever.
            failure = UnknownFailure(f"{self._owner} could not be attached again: {error!r}")
            self._end(failure)
            self._failed(failure)
            raise
        finally:
            self._restoring = False

    async def _once(self) -> None:
        connection = await self._lookup.connect(self._topic)
        self._attaching_to = connection
        self._lost_while_attaching = False
        try:
            await self._attach(connection)
            if self._lost_while_attaching or connection.closed:
                raise ConnectionLost(f"{self._owner} was let go of while it attached")
        finally:
            self._attaching_to = None
        self._since = self._clock.now()
        self.connection = connection
        self._attached.set()

    def _end(self, error: MagnetarError) -> None:
        if self.failure is None:
            self.failure = error
        self.connection = None
        self._attached.set()
