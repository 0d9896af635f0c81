"""The entries of a topic's log for whoever looks at them, and the messages in them.

Between messages the event loop has its turn every millisecond; what is large is unpacked in a
thread, and few large entries are read at once.
"""

from collections.abc import AsyncIterator, Iterator
from typing import Final

from magnetar.broker.threads import in_thread
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.clock import Clock
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.run import EntryRun

from .stored import StoredMessage, messages_in

SLICE_S: Final = 0.0003
"""How long it works before others have their turn;"""
PAUSE_S: Final = 0.0005
"""and how long they have it. An event loop makes a millisecond of it."""
INLINE_BYTES: Final = 256 * 1024
"""Larger entries are unpacked in a thread."""
READ_ENTRIES: Final = 200
READ_BYTES: Final = 256 * 1024
FIRST_ENTRIES: Final = 4
"""Backwards, so many are read first; then more where they are small."""


class TurnTaker:
    """Gives others in the event loop a turn, now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = clock.now() + SLICE_S

    async def turn(self) -> None:
        if self._clock.now() >= self._until:
            await self._clock.sleep(PAUSE_S)
            self._until = self._clock.now() + SLICE_S


async def unpacked(
    position: Position, entry: bytes, slices: TurnTaker, *, backwards: bool = False
) -> list[StoredMessage]:
    """The messages of an entry; backwards, the last one first."""
    await slices.turn()
    if len(entry) > INLINE_BYTES:
        found = await in_thread(lambda: list(messages_in(position, entry)))
    else:
        found = []
        for message in messages_in(position, entry):
            found.append(message)
            await slices.turn()
    return found[::-1] if backwards else found


def entries_of(run: EntryRun) -> Iterator[tuple[Position, bytes]]:
    """The entries of a run, each with its position."""
    for entry_id, entry in enumerate(run.data, run.first_entry_id):
        yield Position(run.ledger_id, entry_id), entry


async def entries_from(
    log: TopicLog, start: Position = EARLIEST, stop: Position | None = None
) -> AsyncIterator[tuple[Position, bytes]]:
    """Entries from ``start`` to before ``stop``, None: to the end as it is by then."""
    while (run := await log.read(start, READ_ENTRIES, READ_BYTES)) is not None:
        for position, entry in entries_of(run):
            if stop is not None and position >= stop:
                return
            yield position, entry
        start = Position(run.ledger_id, run.last_entry_id + 1)


async def entries_back(
    log: TopicLog, start: Position, *, inclusive: bool = False
) -> AsyncIterator[tuple[Position, bytes]]:
    """Entries before ``start``, and it where that is said, the last one first."""
    stop, count = min(start, log.end), FIRST_ENTRIES
    if inclusive and start < log.end:
        stop = log.next_position(start)
    while stop > log.first:
        begin = log.back(stop, count)
        block = [each async for each in entries_from(log, begin, stop)]
        size = sum(len(entry) for _, entry in block)
        for each in reversed(block):
            yield each
        stop = begin
        count = min(2 * count, READ_ENTRIES) if size < READ_BYTES else max(count // 2, 1)
