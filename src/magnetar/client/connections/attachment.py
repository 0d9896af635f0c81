"""Keeps one producer or one consumer attached to the broker that owns its topic.

The owner gives a coroutine that attaches it to a connection. The attachment finds the broker,
connects, calls it, and when the connection is lost or the broker detaches it, does so again: after
100 ms, 200 ms, and so on to a minute, until it works, the owner closes, or the broker says never.

    ATTACHING --attached--> ATTACHED --lost--> ATTACHING
                            ATTACHED --hold--> EXPECTING_LOSS --release--> ATTACHED
                                               EXPECTING_LOSS --lost--> HELD --release--> ATTACHING

and from everywhere --end--> ENDED. A seek holds: the broker answers it by detaching the consumer,
which then must not come back before the seek is done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Final, Protocol, TypeVar

from magnetar.clock import Clock
from magnetar.errors import (
    AlreadyClosed,
    BacklogQuotaExceeded,
    ConnectionLost,
    MagnetarError,
    TimedOut,
    UnknownFailure,
)
from magnetar.tasks import Tasks

from .backoff import Backoff
from .connection import Connection
from .lookup import Lookup, naming
from .retry import retry, worth_retrying

log = logging.getLogger(__name__)
T = TypeVar("T")

# An attachment that ends sooner does not reset the backoff: an owner that is detached again at once
# (because of an entry that the broker cannot store, and that is sent again) comes back more seldom.
# Where a broker ends every few seconds, its owners must not wait for a minute in the end.
STABLE_S: Final = 1.0

# The longest pause while a backlog keeps a producer out: its messages wait for the send timeout.
BACKLOG_PAUSE_S: Final = 5.0


class State(Enum):
    """The state of an attachment."""

    ATTACHING = auto()  # It is being attached, or waits for the next attempt.
    ATTACHED = auto()
    EXPECTING_LOSS = auto()  # It is attached, and will be detached on purpose.
    HELD = auto()  # It is detached, and is not attached again before ``release``.
    ENDED = auto()  # No further attempt is made.


class Event(Enum):
    ATTACHED = auto()
    LOST = auto()
    HOLD = auto()
    RELEASE = auto()


TRANSITIONS: Final = {
    (State.ATTACHING, Event.ATTACHED): State.ATTACHED,
    (State.ATTACHED, Event.LOST): State.ATTACHING,
    (State.ATTACHED, Event.HOLD): State.EXPECTING_LOSS,
    (State.EXPECTING_LOSS, Event.RELEASE): State.ATTACHED,
    (State.EXPECTING_LOSS, Event.LOST): State.HELD,
    (State.HELD, Event.RELEASE): State.ATTACHING,
    # Of two seeks at the same time, the second one finds what the first has done.
    (State.EXPECTING_LOSS, Event.HOLD): State.EXPECTING_LOSS,
    (State.ATTACHED, Event.RELEASE): State.ATTACHED,
    (State.ATTACHING, Event.RELEASE): State.ATTACHING,
}


class _Again:
    """There was no answer, and the broker is to be asked again."""


_AGAIN: Final = _Again()


class NotAttached(Protocol):
    """What the owner of an attachment does when it could not be attached again."""

    def __call__(self, error: MagnetarError, *, final: bool) -> None: ...


class Attachment:
    """Attaches one owner to its broker, again and again."""

    connection: Connection | None  # Invariant: set exactly in ATTACHED and EXPECTING_LOSS.
    failure: MagnetarError | None  # Invariant: set exactly in ENDED.

    def __init__(
        self,
        topic: str,
        attach: Callable[[Connection], Awaitable[None]],
        not_attached: NotAttached,
        *,
        lookup: Lookup,
        backoff: Backoff,
        clock: Clock,
        owner: str,
    ) -> None:
        """``attach`` may be cancelled and must then leave nothing behind at the broker.

        ``not_attached`` is called each time a lost attachment could not be restored, and with
        ``final`` when it never will be.
        """
        self.connection = None
        self.failure = None
        self._topic = topic
        self._attach = attach
        self._not_attached = not_attached
        self._lookup = lookup
        self._backoff = backoff
        self._clock = clock
        self._owner = owner
        self._tasks = Tasks(owner)
        self._state = State.ATTACHING
        self._attached = asyncio.Event()
        self._since = 0.0  # When it was attached last, in seconds of the clock.
        self._tried: Connection | None = None  # The connection of the current attempt.
        self._limit: asyncio.Timeout | None = None  # Of ``start``, while that runs.
        self._trouble: MagnetarError | None = None  # Why it is not attached now, as far as known.

    async def start(self, timeout_s: float) -> None:
        """Attach for the first time, trying again for at most ``timeout_s`` seconds.

        Raises the broker's error, or the last one seen when time runs out. Cancellation safe.
        """
        self._limit = asyncio.timeout(timeout_s)
        try:
            await retry(
                self._try,
                limit=self._limit,
                timed_out=f"{self._owner} was not attached within {timeout_s:g} s",
                backoff=self._backoff,
                clock=self._clock,
            )
        finally:
            self._limit = None
        self._backoff.reset()

    def in_line(self) -> None:
        """Let ``start`` take as long as it takes: the broker attaches the owner in its turn."""
        if self._limit is not None:
            self._limit.reschedule(None)

    async def attached(self) -> Connection:
        """Wait for a connection. Raises what ended the attachment."""
        while self.connection is None:
            if self.failure is not None:
                raise self.failure
            self._attached.clear()
            await self._attached.wait()
        return self.connection

    async def ask(self, request: Callable[[Connection], Awaitable[T]], timeout_s: float) -> T:
        """Ask the broker, again when the connection is lost or the broker has let the owner go.

        Raises the broker's error, TimedOut after ``timeout_s`` seconds, what ended the attachment.
        """
        began = self._clock.now()
        if self.connection is not None:  # As nearly always: a request has a limit of its own.
            answer = await self._ask_once(request, self.connection)
            if not isinstance(answer, _Again):
                return answer
        try:
            async with asyncio.timeout(timeout_s - (self._clock.now() - began)):
                while True:
                    answer = await self._ask_once(request, await self.attached())
                    if not isinstance(answer, _Again):
                        return answer
        except TimedOut:
            raise
        except TimeoutError:
            why = f": {self._trouble}" if self._trouble else ""
            raise TimedOut(f"{self._topic} did not answer within {timeout_s:g} s{why}") from None

    async def _ask_once(
        self, request: Callable[[Connection], Awaitable[T]], connection: Connection
    ) -> "T | _Again":
        try:
            return await request(connection)
        except MagnetarError as error:
            if self.connection is connection and not isinstance(error, ConnectionLost):
                raise
            self._trouble = error
            log.info("client.asks_again owner=%s", self._owner)
            return _AGAIN

    def lost(self, connection: Connection, *, moved: bool = False) -> None:
        """Attach again, because ``connection`` serves the owner no longer.

        ``moved``: the broker has said who serves the topic from now on, so nothing is amiss.
        """
        if self._tried is connection:
            self._tried = None
        if self.connection is not connection:
            return
        self.connection = None
        if moved or self._clock.now() - self._since >= STABLE_S:
            self._backoff.reset()
        if self._on(Event.LOST) is State.ATTACHING:
            self._tasks.spawn("attach", self._again(at_once=moved))

    def hold(self) -> None:
        """Do not attach again until ``release``: the owner will be detached on purpose."""
        self._on(Event.HOLD)

    def release(self) -> None:
        """Attach again, at once when the connection was lost in the meantime."""
        if self._state is State.ENDED:
            return
        before = self._state
        if self._on(Event.RELEASE) is not before and self.connection is None:
            self._tasks.spawn("attach", self._again(at_once=True))

    async def close(self, reason: str) -> None:
        """Stop trying; calls that wait in ``attached`` raise AlreadyClosed(``reason``)."""
        self._end(AlreadyClosed(reason))
        await self._tasks.close()

    async def _again(self, *, at_once: bool) -> None:
        try:
            while self._state is State.ATTACHING:
                if not at_once:
                    await self._lookup.pause(self._pause_s(), self._clock)
                at_once = False
                try:
                    await self._try()
                except MagnetarError as error:
                    if not worth_retrying(error, attached_before=True):
                        log.warning("client.detached owner=%s error=%s", self._owner, error)
                        self._end(error)
                        self._not_attached(error, final=True)
                        return
                    log.info("client.attach_failed owner=%s error=%s", self._owner, error)
                    self._trouble = error
                    self._not_attached(error, final=False)
                else:
                    log.info("client.attached owner=%s", self._owner)
        except Exception as error:
            # This is a mistake of ours: the owner must hear of it, and not wait for ever.
            failure = UnknownFailure(f"{self._owner} could not be attached again: {error!r}")
            self._end(failure)
            self._not_attached(failure, final=True)
            raise

    def _pause_s(self) -> float:
        pause_s = self._backoff.next_s()
        kept_out = isinstance(self._trouble, BacklogQuotaExceeded)
        return min(pause_s, BACKLOG_PAUSE_S) if kept_out else pause_s

    async def _try(self) -> None:
        """Attach once. Raises the error of the attempt."""
        try:
            connection = self._tried = await self._lookup.connect(self._topic)
            await self._attach(connection)
            if self._tried is not connection or connection.closed:
                raise ConnectionLost(f"{self._owner} was detached while it was being attached")
        except MagnetarError as error:
            raise naming(error, self._topic) from error.__cause__
        finally:
            self._tried = None
        if self.failure is not None:  # It was closed during the attempt.
            raise self.failure
        self._on(Event.ATTACHED)
        self._since = self._clock.now()
        self._trouble = None
        self.connection = connection
        self._attached.set()

    def _on(self, event: Event) -> State:
        self._state = TRANSITIONS[self._state, event]
        return self._state

    def _end(self, error: MagnetarError) -> None:
        if self._state is not State.ENDED:
            self.failure = error
        self._state = State.ENDED
        self.connection = None
        self._attached.set()
