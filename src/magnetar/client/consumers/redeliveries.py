"""Asks for entries again when their time has come: refused, or not acknowledged in time."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.message import Message, entries_of
from magnetar.clock import Clock
from magnetar.model.position import MessageId, Position

from .due_entries import DueEntries

TIMES_PER_DELAY: Final = 3
"""How often in one delay entries are asked for, at most: those that are due then go together."""


class RedeliveryTimer:
    """Calls ``ask_again`` with the entries that are due. It has a timer while there are some."""

    entries: DueEntries

    def __init__(
        self, delay_s: float, clock: Clock, ask_again: Callable[[list[Position]], None]
    ) -> None:
        self.entries = DueEntries(delay_s)
        self._pause_s = delay_s / TIMES_PER_DELAY
        self._clock = clock
        self._ask_again = ask_again
        self._timer: asyncio.TimerHandle | None = None

    def add(self, positions: Iterable[Position]) -> None:
        """Ask for these after the delay."""
        self.entries.add(positions, self._clock.now())
        if self._timer is None:
            self._wait(0.0)

    def close(self) -> None:
        self.entries.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, least_s: float) -> None:
        first = self.entries.first
        if first is not None:
            wait_s = max(first - self._clock.now(), least_s)
            self._timer = asyncio.get_running_loop().call_later(wait_s, self._come_due)

    def _come_due(self) -> None:
        self._timer = None
        taken = self.entries.take(self._clock.now())
        if taken:
            self._ask_again(taken)
        self._wait(self._pause_s)


class Redeliveries:
    """What one consumer asks for again: messages that were refused, or not acknowledged in time."""

    unacked: DueEntries | None  # What the application has; None where it may keep it for ever.

    def __init__(
        self,
        config: ConsumerConfig,
        clock: Clock,
        ask_again: Callable[[list[Position]], None],
        *,
        acknowledges: bool,
    ) -> None:
        """``acknowledges`` False: a reader, or a topic that keeps no messages, asks for nothing."""
        self._acknowledges = acknowledges
        self._refused = RedeliveryTimer(config.negative_ack_delay_s, clock, ask_again)
        self._unacked: RedeliveryTimer | None = None
        self.unacked = None
        if config.ack_timeout_s and acknowledges:
            self._unacked = RedeliveryTimer(config.ack_timeout_s, clock, ask_again)
            self.unacked = self._unacked.entries

    def taken(self, messages: Iterable[Message]) -> None:
        """The application got these."""
        if self._unacked is not None:
            self._unacked.add(place for message in messages for place in entries_of(message))

    def refuse(self, messages: Iterable[Message | MessageId]) -> None:
        """The application cannot process these now."""
        if not self._acknowledges:
            return
        positions = [place for message in messages for place in entries_of(message)]
        self._refused.add(positions)
        if self.unacked is not None:
            for position in positions:
                self.unacked.discard(position)

    def clear(self) -> None:
        """The broker sends again what is not acknowledged."""
        self._refused.entries.clear()
        if self.unacked is not None:
            self.unacked.clear()

    def close(self) -> None:
        self._refused.close()
        if self._unacked is not None:
            self._unacked.close()
