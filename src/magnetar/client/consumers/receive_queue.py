"""The messages that the broker sent ahead of the application, and their permits. Pure.

The broker sends as many messages as it has permits for, then waits. The queue starts with ``size``
permits and gives back those of consumed messages when they make half of it: that is seldom enough
to be cheap, and early enough that the broker need not pause. Entries are opened when the
application asks for messages.

A queue of size 0 gives the broker its one permit when somebody waits, and not before.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from magnetar.client.message import Message
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


class ReceiveQueue:
    """The queue of one consumer. The permits that the broker has bound it."""

    def __init__(
        self,
        size: int,
        open_entry: Callable[[Frame], Opened],
        ready: Callable[[Frame], bool] | None = None,
    ) -> None:
        """``ready`` says whether an entry can be opened; those behind one that cannot wait."""
        self._size = size
        self._enough = max(size // 2, 1) if size else inf
        self._open_entry = open_entry
        self._ready = ready
        self._arrived: deque[Frame] = deque()
        self._unready: deque[Frame] = deque()  # They have arrived, and cannot be opened yet.
        self._entry: Entry | None = None  # The one that was opened last, and its messages.
        self._messages: list[Message[Any]] = []
        self._next = 0  # Invariant: the application has those before this index.
        self._consumed = 0

    @property
    def waiting(self) -> bool:
        """Whether there are messages, or entries that may have some."""
        return self._next < len(self._messages) or bool(self._arrived)

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
        """Deliver these, whose permits were not counted, behind those of the opened entry."""
        self._messages = self._messages[self._next :] + messages
        self._entry, self._next = None, 0

    def pop(self) -> Message[Any] | None:
        if self._next == len(self._messages) and not self.open():
            return None
        message = self._messages[self._next]
        self._next += 1
        self._consumed += 1
        return message

    def take(self, count_max: int) -> list[Message[Any]]:
        taken: list[Message[Any]] = []
        while len(taken) < count_max and (self._next < len(self._messages) or self.open()):
            start = self._next
            stop = min(start + count_max - len(taken), len(self._messages))
            taken += self._messages[start:stop]
            self._next = stop
            self._consumed += stop - start
        return taken

    def take_entries(
        self, count_max: int, open_entry: Callable[[Frame], OpenedEntry]
    ) -> list[Entry]:
        """Take entries whole, until they have ``count_max`` messages or more."""
        taken: list[Entry] = []
        if self._entry is not None and self._next < len(self._messages):
            taken.append(self._entry.only(self._messages[self._next :]))
            self._consumed += len(self._messages) - self._next
            self._next = len(self._messages)
        count = sum(entry.count for entry in taken)
        while count < count_max and self._arrived:
            opened = open_entry(self._arrived.popleft())
            self._consumed += opened.permits
            if opened.entry is not None:
                taken.append(opened.entry)
                count += opened.entry.count
        return taken

    def open(self) -> bool:
        """Open entries until there is a message to deliver. Returns False when there is none."""
        while self._next == len(self._messages):
            if not self._arrived:
                self._entry, self._messages, self._next = None, [], 0
                return False
            opened = self._open_entry(self._arrived.popleft())
            self._entry, self._messages, self._next = opened.entry, opened.messages, 0
            self._consumed += opened.permits - len(opened.messages)
        return True

    def give_back(self, permits: int) -> None:
        """Count the permits of messages that were dropped before they entered the queue."""
        self._consumed += permits

    @property
    def on_demand(self) -> bool:
        """Whether messages come only when somebody waits for them."""
        return not self._size

    @property
    def wants_more(self) -> bool:
        """Whether so much was consumed that the broker should get permits."""
        return self._consumed >= self._enough

    @property
    def wants_one(self) -> bool:
        """Whether somebody who waits for a message has to ask for it."""
        return not self._size and self._consumed > 0 and not self.waiting

    def take_permits(self) -> int:
        """Take the permits of what was consumed, to give them to the broker."""
        permits, self._consumed = self._consumed, 0
        return permits

    def restart(self) -> None:
        """Drop everything, for a new subscription, which has no permits yet."""
        self._arrived.clear()
        self._unready.clear()
        self._messages, self._next = [], 0
        self._consumed = self._size or 1

    def drop(self, permits_of: Callable[[Frame], int]) -> None:
        """Drop what waits, because the broker sends it again. Its permits count as consumed."""
        self._consumed += sum(map(permits_of, self._arrived)) + len(self._messages) - self._next
        self._consumed += sum(map(permits_of, self._unready))
        self._arrived.clear()
        self._unready.clear()
        self._messages, self._next = [], 0
