"""Pages of messages, read from a topic's log forwards or backwards: no subscription notices.

A page ends when it has what was asked for, or when it has looked so far that others should be
served: then it says how far it looked, and where to go on.
"""

from collections.abc import Callable
from dataclasses import field
from typing import Final, NamedTuple

from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position

from .chunked import ChunkedMessages
from .entries import TurnTaker, entries_back, entries_from, unpacked
from .stored import StoredMessage, plain_batch

COUNT_MAX: Final = 500
"""Messages of a page."""
PAGE_BYTES_MAX: Final = 4 * 1024 * 1024
"""Payloads of a page; it has one message at least."""
SCANNED_ENTRIES_MAX: Final = 100_000
SCANNED_BYTES_MAX: Final = 64 * 1024 * 1024
SCANNED_S_MAX: Final = 2.0
"""How far a page looks for what is wanted."""


class PageCursor(NamedTuple):
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
    next: PageCursor | None = None
    scan: Scan = field(default_factory=Scan)


async def find_page(
    log: TopicLog,
    clock: Clock,
    start: PageCursor,
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
    size, deadline, slices = 0, clock.now() + SCANNED_S_MAX, TurnTaker(clock)
    chunked = ChunkedMessages(log, slices)
    entries = (
        entries_back(log, start.position, inclusive=True)
        if backwards
        else entries_from(log, start.position)
    )
    async for position, entry in entries:
        if scan.entries and (
            scan.entries >= SCANNED_ENTRIES_MAX
            or scan.bytes + len(entry) > SCANNED_BYTES_MAX
            or clock.now() > deadline
        ):
            page.next = PageCursor(*position)
            break
        scan.entries += 1
        scan.bytes += len(entry)
        skipped = None if may_have(entry) else plain_batch(position, entry)
        if skipped is not None:
            scan.messages += skipped.batch_size
            scan.first = scan.first or skipped
            scan.last = skipped
            await slices.turn()
            continue
        for message in await unpacked(position, entry, slices, backwards=backwards):
            if position == start.position and _before(message, start, backwards=backwards):
                continue
            shown = message if message.chunk is None else await chunked.shown(message)
            if shown is not None and wanted(shown):
                size += shown.size
                if len(page.messages) == count or (page.messages and size > PAGE_BYTES_MAX):
                    page.next = PageCursor(*shown.id)
                    return page
                page.messages.append(shown)
            scan.messages += 1
            scan.first = scan.first or message
            scan.last = message
            await slices.turn()
    return page


def _before(message: StoredMessage, start: PageCursor, *, backwards: bool) -> bool:
    if start.batch_index < 0:
        return False
    behind = message.batch_index - start.batch_index
    return behind > 0 if backwards else behind < 0
