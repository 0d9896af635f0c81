"""The messages that the broker sent ahead of the application, and their permits. Pure.

The broker sends as many messages as it has permits for, then waits. The queue starts with ``size``
permits and gives back those of consumed messages when they make half of it: that is seldom enough
to be cheap, and early enough that the broker need not pause. Entries are opened when the
application asks for messages.

Any thread may take the next one of the ``messages`` of opened entries: an iterator over a list
gives each of them once. What was taken is counted afterwards, by what is left.

A queue of size 0 gives the broker its one permit when a caller waits, and not before.

One that is bound in bytes, too, begins with ``FIRST_WINDOW`` permits. It doubles them each time it
gives some back, as long as so many messages of the size that came last fit into the bytes.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from math import inf
from operator import length_hint
from typing import Any, Final, Protocol

from magnetar.client.message import Message
from magnetar.client.statistics import Counts
from magnetar.wire.frames import Frame

from .entry import Entry


@dataclass(slots=True)
class Opened:
    """An opened entry: its messages to deliver, and the permits that it took."""

    messages: list[Message[Any]]
    permits: int
    entry: Entry | None = None


@dataclass(slots=True)
class OpenedEntry:
    """An entry that was not taken apart, None where it has no message; and its permits."""

    entry: Entry | None
    permits: int


class OpenedMessages(Protocol):
    """Where messages are taken from one by one."""

    messages: Iterator[Message[Any]]


FIRST_WINDOW: Final = 10
"""Messages sent ahead before any size is known: they may be of some megabytes each."""


class _Nothing:
    messages: Iterator[Message[Any]] = iter(())


NOTHING: Final = _Nothing()


class ReceiveQueue:
    """The queue of one consumer. The permits that the broker has bound it."""

    messages: Iterator[Message[Any]]  # Of opened entries; those that were not taken.

    def __init__(
        self,
        size: int,
        open_entry: Callable[[Frame], Opened],
        ready: Callable[[Frame], bool] | None = None,
        *,
        bytes_max: int = 0,
    ) -> None:
        """``ready`` says whether an entry can be opened; those behind one that cannot wait.

        ``bytes_max`` of 0: the size alone bounds it.
        """
        self._size = size
        self._bytes_max = bytes_max if size else 0
        self._window = min(size, FIRST_WINDOW) if bytes_max else size
        self._enough = max(self._window // 2, 1) if size else inf
        self._opened_bytes = self._opened_permits = 0  # Since permits were given back.
        self._open_entry = open_entry
        self._ready = ready
        self._arrived: deque[Frame] = deque()
        self._unready: deque[Frame] = deque()  # They have arrived, and cannot be opened yet.
        self._entries: list[Entry] = []  # The opened ones, and their messages.
        self._opened: list[Message[Any]] = []
        self._counted = 0  # Of these, the messages that were counted as taken.
        self._taken: list[Message[Any]] = []  # Those counted, until ``taken`` is called.
        self._consumed = 0
        self.received = Counts(0, 0)  # Its bytes are counted by the caller of ``put``.
        self.messages = iter(self._opened)

    @property
    def waiting(self) -> bool:
        """Whether there are messages, or entries that may have some."""
        return length_hint(self.messages) > 0 or bool(self._arrived)

    def count(self, messages_of: Callable[[Frame], int]) -> int:
        """The messages that wait; of an entry that is not opened, as ``messages_of`` says."""
        unopened = sum(map(messages_of, (*self._arrived, *self._unready)))
        return length_hint(self.messages) + unopened

    def put(self, frame: Frame) -> None:
        if self._ready is None or (not self._unready and self._ready(frame)):
            self._arrived.append(frame)
        else:
            self._unready.append(frame)

    def look_again(self) -> None:
        """Entries that could not be opened may be ready now."""
        while self._unready and self._ready is not None and self._ready(self._unready[0]):
            self._arrived.append(self._unready.popleft())

    def put_back(self, messages: list[Message[Any]]) -> None:
        """Deliver these, whose permits were not counted, behind those of the opened entries."""
        self._open([], self._leave() + messages)

    def pop(self) -> Message[Any] | None:
        message = next(self.messages, None)
        if message is None and self.open():
            message = next(self.messages, None)
        return message

    def take(self, count_max: int) -> list[Message[Any]]:
        taken = list(islice(self.messages, count_max))
        while len(taken) < count_max and self.open():
            taken += islice(self.messages, count_max - len(taken))
        return taken

    def taken(self) -> list[Message[Any]]:
        """Return what was taken since this was asked before."""
        self._count(length_hint(self.messages))
        taken, self._taken = self._taken, []
        return taken

    def take_entries(
        self,
        count_max: int,
        open_entry: Callable[[Frame], OpenedEntry],
        bytes_max: float = inf,
    ) -> list[Entry]:
        """Take entries whole, until they have ``count_max`` messages, or ``bytes_max``, or more."""
        rest = list(self.messages)
        taken: list[Entry] = []
        for entry in self._entries if rest else []:
            left = [message for message in rest if message.delivery is entry.delivery]
            if left:
                taken.append(entry.only(left))
        count = sum(entry.count for entry in taken)
        size = sum(len(entry.data) for entry in taken)
        while count < count_max and size < bytes_max and self._arrived:
            frame = self._arrived.popleft()
            opened = open_entry(frame)
            self._consumed += opened.permits
            self._note_size(frame, opened.permits)
            if opened.entry is not None:
                taken.append(opened.entry)
                self.received.messages += opened.entry.count
                count += opened.entry.count
                size += len(opened.entry.data)
        return taken

    def open(self, count: int = 1) -> bool:
        """Open entries until there are so many messages to deliver, or all. False: there is none.

        What was taken may not be counted yet.
        """
        left = length_hint(self.messages)
        if left < count and (self._arrived or not left):
            messages, entries = self._leave(), self._entries if left else []
            while len(messages) < count and self._arrived:
                frame = self._arrived.popleft()
                opened = self._open_entry(frame)
                self._note_size(frame, opened.permits)
                messages += opened.messages
                self.received.messages += len(opened.messages)
                self._consumed += opened.permits - len(opened.messages)
                if opened.entry is not None:
                    entries.append(opened.entry)
            self._open(entries, messages)
        return length_hint(self.messages) > 0

    def _leave(self) -> list[Message[Any]]:
        """Take what is left of the opened entries out of reach, uncounted, and count the rest."""
        left = list(self.messages)  # At once: another thread takes a message before, or none.
        self._count(len(left))
        return left

    def _count(self, left: int) -> None:
        stop = len(self._opened) - left
        self._taken += self._opened[self._counted : stop]
        self._consumed += stop - self._counted
        self._counted = stop

    def _open(self, entries: list[Entry], messages: list[Message[Any]]) -> None:
        self._entries, self._opened, self._counted = entries, messages, 0
        self.messages = iter(messages)

    def release(self, permits: int) -> None:
        """Count the permits of messages that were dropped before they entered the queue."""
        self._consumed += permits

    @property
    def on_demand(self) -> bool:
        """Whether messages come only when a caller waits for them."""
        return not self._size

    @property
    def wants_more(self) -> bool:
        """Whether so much was consumed that the broker should get permits."""
        self._count(length_hint(self.messages))
        return self._consumed >= self._enough

    @property
    def wants_one(self) -> bool:
        """Whether a caller that waits for a message has to ask for it."""
        if self._size or self.waiting:
            return False
        self._count(0)
        return self._consumed > 0

    def take_permits(self) -> int:
        """Take the permits of what was consumed, to give them to the broker."""
        self._count(length_hint(self.messages))
        if self._opened_permits:
            self._resize()
        permits = max(self._consumed, 0)
        self._consumed -= permits
        return permits

    def _note_size(self, frame: Frame, permits: int) -> None:
        if not self._bytes_max:
            return
        self._opened_bytes += len(frame.entry or b"")
        self._opened_permits += permits

    def _resize(self) -> None:
        """Have as many messages sent ahead as the bytes allow; below 0 too many are on the way."""
        average = max(self._opened_bytes // self._opened_permits, 1)
        fitting = max(min(self._bytes_max // average, 2 * self._window, self._size), 1)
        self._consumed += fitting - self._window
        self._window, self._enough = fitting, max(fitting // 2, 1)
        self._opened_bytes = self._opened_permits = 0

    def restart(self) -> None:
        """Drop everything, for a new subscription, which has no permits yet."""
        self._leave()
        self._open([], [])
        self._arrived.clear()
        self._unready.clear()
        self._consumed = self._window or 1

    def drop(self, permits_of: Callable[[Frame], int]) -> None:
        """Drop what waits, because the broker sends it again. Its permits count as consumed."""
        left = self._leave()
        self._open([], [])
        self._consumed += len(left)
        self._consumed += sum(map(permits_of, self._arrived)) + sum(map(permits_of, self._unready))
        self._arrived.clear()
        self._unready.clear()


def fitting(messages: Sequence[Message[Any]], bytes_max: float) -> int:
    """How many of the messages have ``bytes_max`` bytes together; at least one."""
    sizes = accumulate(len(message.data) for message in messages)
    return max(sum(size <= bytes_max for size in sizes), 1)
