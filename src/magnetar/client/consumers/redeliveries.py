"""Asks for entries again when their time has come: refused, or not acknowledged in time.

The broker redelivers what a consumer asks for. A negative acknowledgement asks after a delay, and
``ack_timeout_s`` asks for what the application took and did not acknowledge. Both are one timer
wheel of entries, whose ticks are coarse, so that what is due at about the same time is asked for in
one command. An acknowledgement takes the entry off the wheel.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Message, entries_of
from magnetar.clock import Clock
from magnetar.model.position import MessageId, Position
from magnetar.model.timer_wheel import TimerWheel

from .timer import Timer

TICKS_PER_DELAY: Final = 3
"""Refused messages are asked for so often in one delay, and those that are due then together."""
TICK_MIN_S: Final = 0.033  # But not more often than this,
TICK_MAX_S: Final = 1.0  # and not later than this after a message is due.
COUNTED_MAX: Final = 10_000
"""Entries whose redeliveries are counted here, where the broker does not; then the oldest goes."""


class Redeliveries:
    """What one consumer asks for again: messages that were refused, or not acknowledged in time."""

    wheel: TimerWheel[Position]  # Loses the entries that are acknowledged.
    times_out: bool  # Whether messages that the application took are to be acknowledged in time.

    def __init__(
        self,
        config: ConsumerConfig,
        clock: Clock,
        ask_again: Callable[[list[Position]], None],
        *,
        acknowledges: bool,
        counted_max: int = COUNTED_MAX,
    ) -> None:
        """``acknowledges`` False: a reader, or a topic that keeps no messages, asks for nothing."""
        self.wheel = TimerWheel()
        self.times_out = acknowledges and config.ack_timeout_s > 0
        self._acknowledges = acknowledges
        self._timeout_s = config.ack_timeout_s
        self._timeout_tick_s = config.ack_timeout_tick_s
        self._timeout_backoff = config.ack_timeout_backoff
        self._delay_s = config.negative_ack_delay_s
        self._refused_backoff = config.negative_ack_backoff
        shortest = self._refused_backoff.min_s if self._refused_backoff else self._delay_s
        self._tick_s = min(max(shortest / TICKS_PER_DELAY, TICK_MIN_S), TICK_MAX_S)
        self._clock = clock
        self._ask_again = ask_again
        self._timer = Timer(clock, self._ask)
        # The broker counts the redeliveries of Shared and Key_Shared subscriptions only.
        counts = self._timeout_backoff is not None or self._refused_backoff is not None
        self._counts: dict[Position, int] | None = None
        if counts and config.type.single_active:
            self._counts = {}
        self._counted_max = counted_max

    def taken(self, messages: Sequence[Message[Any]]) -> None:
        """The application got these. Call it where ``times_out`` only."""
        due = self._clock.now() + self._timeout_s
        if self._timeout_backoff is None:
            places = (place for message in messages for place in entries_of(message))
            self._timer.set(self.wheel.add(places, due, self._timeout_tick_s))
            return
        for message in messages:
            later = due + self._timeout_backoff.delay_s(self._count(message))
            self._timer.set(self.wheel.add(entries_of(message), later, self._timeout_tick_s))

    def withheld(self, position: Position) -> None:
        """The application does not get this entry, which may be read later."""
        if self.times_out:
            due = self._clock.now() + self._timeout_s
            self._timer.set(self.wheel.add((position,), due, self._timeout_tick_s))

    def refuse(self, messages: Iterable[Message[Any] | MessageId]) -> None:
        """The application cannot process these now."""
        if not self._acknowledges:
            return
        now = self._clock.now()
        if self._refused_backoff is None:
            places = (place for message in messages for place in entries_of(message))
            self._timer.set(self.wheel.move(places, now + self._delay_s, self._tick_s))
            return
        for message in messages:
            due = now + self._refused_backoff.delay_s(self._count(message))
            self._timer.set(self.wheel.move(entries_of(message), due, self._tick_s))

    def asked(self, positions: Iterable[Position]) -> None:
        """Forget entries whose redelivery was asked for."""
        for position in positions:
            self.wheel.discard(position)

    def clear(self) -> None:
        """The broker sends again what is not acknowledged."""
        self.wheel.clear()

    def close(self) -> None:
        self.wheel.clear()
        self._timer.close()

    def _count(self, message: Message[Any] | MessageId) -> int:
        """How often it was delivered before."""
        if self._counts is not None:
            return self._counts.get(entries_of(message)[-1], 0)
        return message.redelivery_count if isinstance(message, Message) else 0

    def _ask(self) -> None:
        taken = self.wheel.take(self._clock.now())
        if taken:
            self._note(taken)
            self._ask_again(taken)
        first = self.wheel.first
        if first is not None:
            self._timer.set(first)

    def _note(self, positions: list[Position]) -> None:
        if self._counts is None:
            return
        for position in positions:
            self._counts[position] = self._counts.pop(position, 0) + 1
        while len(self._counts) > self._counted_max:
            del self._counts[next(iter(self._counts))]
