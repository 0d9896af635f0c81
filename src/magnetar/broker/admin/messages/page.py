"""Pages of messages, read from a topic's log forwards or backwards: no subscription notices.

A page ends when it has what was asked for, or when it has looked so far that others should be
served: then it says how far it looked, and where to go on. Between messages the event loop has its
turn every millisecond; what is large is unpacked in a thread.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from magnetar.broker.topics.topic_log import TopicLog
from magnetar.clock import Clock
from magnetar.model.position import EARLIEST, Position

from .stored import StoredMessage, messages_in, plain_batch

COUNT_MAX: Final = 500
"""Messages of a page."""
PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Payloads of a page; it has one message at least."""
SCANNED_ENTRIES_MAX: Final = 100_000
SCANNED_BYTES_MAX: Final = 64 * 1024 * 1024
SCANNED_S_MAX: Final = 2.0
"""How far a page looks for what is wanted."""
SLICE_S: Final = 0.0003
"""How long it works before others have their turn;"""
PAUSE_S: Final = 0.0005
"""and how long they have it. An event loop makes a millisecond of it."""
INLINE_BYTES: Final = 256 * 1024
"""Larger entries are unpacked in a thread."""
READ_ENTRIES: Final = 200
READ_BYTES: Final = 256 * 1024


class Place(NamedTuple):
    """Where a page begins: at a message, which it has if that is wanted."""

    ledger_id: int
    entry_id: int
    batch_index: int = -1  # -1: at the entry's first message; backwards, at its last.

    @property
    def position(self) -> Position:
        return Position(self.ledger_id, self.entry_id)

    def __str__(self) -> str:
        return ":".join(map(str, self if self.batch_index >= 0 else self[:2]))


@dataclass(slots=True)
class Scan:
    """How far was looked."""

    entries: int = 0
    messages: int = 0
    bytes: int = 0
    first: StoredMessage | None = None
    last: StoredMessage | None = None


@dataclass(slots=True)
class Page:
    """What was found, in the order it was looked for; ``next`` is None where nothing is left."""

    messages: list[StoredMessage] = field(default_factory=list)
    next: Place | None = None
    scan: Scan = field(default_factory=Scan)


class Slices:
    """Gives others in the event loop a turn, now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = clock.now() + SLICE_S

    async def turn(self) -> None:
        if self._clock.now() >= self._until:
            await self._clock.sleep(PAUSE_S)
            self._until = self._clock.now() + SLICE_S


async def find_page(
    log: TopicLog,
    clock: Clock,
    start: Place,
    *,
    count: int,
    backwards: bool = False,
    wanted: Callable[[StoredMessage], bool],
    may_have: Callable[[bytes], bool] = lambda _: True,
) -> Page:
    """At most ``count`` messages from ``start`` on. Raises what the stores raise.

    ``may_have``: whether something that is wanted can be in these bytes, by which most of a batch
    need not be unpacked.
    """
    page, scan = Page(), Scan()
    page.scan = scan
    size, deadline, slices = 0, clock.now() + SCANNED_S_MAX, Slices(clock)
    async for position, entry in _entries(log, start.position, backwards=backwards):
        if scan.entries and (
            scan.entries >= SCANNED_ENTRIES_MAX
            or scan.bytes + len(entry) > SCANNED_BYTES_MAX
            or clock.now() > deadline
        ):
            page.next = Place(*position)
            break
        scan.entries += 1
        scan.bytes += len(entry)
        passed_over = None if may_have(entry) else plain_batch(position, entry)
        if passed_over is not None:
            scan.messages += passed_over.batch_size
            scan.first = scan.first or passed_over
            scan.last = passed_over
            await slices.turn()
            continue
        for message in await unpacked(position, entry, slices, backwards=backwards):
            if position == start.position and _before(message, start, backwards=backwards):
                continue
            if wanted(message):
                size += message.size
                if len(page.messages) == count or (page.messages and size > PAGE_BYTES_MAX):
                    page.next = Place(*message.id)
                    return page
                page.messages.append(message)
            scan.messages += 1
            scan.first = scan.first or message
            scan.last = message
            await slices.turn()
    return page


async def unpacked(
    position: Position, entry: bytes, slices: Slices, *, backwards: bool = False
) -> list[StoredMessage]:
    """The messages of an entry; backwards, the last one first."""
    await slices.turn()
    if len(entry) > INLINE_BYTES:
        found = await asyncio.to_thread(lambda: list(messages_in(position, entry)))
    else:
        found = []
        for message in messages_in(position, entry):
            found.append(message)
            await slices.turn()
    return found[::-1] if backwards else found


def _before(message: StoredMessage, start: Place, *, backwards: bool) -> bool:
    if start.batch_index < 0:
        return False
    behind = message.batch_index - start.batch_index
    return behind > 0 if backwards else behind < 0


async def _entries(
    log: TopicLog, start: Position, *, backwards: bool
) -> AsyncIterator[tuple[Position, bytes]]:
    if not backwards:
        async for each in entries_from(log, start):
            yield each
        return
    stop = log.next_position(start) if start < log.end else log.end
    while stop > log.first:
        begin = log.back(stop, READ_ENTRIES)
        block = [each async for each in entries_from(log, begin, stop)]
        for each in reversed(block):
            yield each
        stop = begin


async def entries_from(
    log: TopicLog, start: Position = EARLIEST, stop: Position | None = None
) -> AsyncIterator[tuple[Position, bytes]]:
    """Entries from ``start`` to before ``stop``, None: to the end as it is by then."""
    while (run := await log.read(start, READ_ENTRIES, READ_BYTES)) is not None:
        for entry_id, entry in enumerate(run.data, run.first_entry_id):
            position = Position(run.ledger_id, entry_id)
            if stop is not None and position >= stop:
                return
            yield position, entry
        start = Position(run.ledger_id, run.last_entry_id + 1)
