"""Messages in chunks, put together for whoever looks at them, each at its last chunk.

The chunks of a message lie near each other, with entries of others between them; a producer that
lost its connection may have sent some twice. One that is too large, or that lacks a chunk, is shown
chunk by chunk.
"""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Final

from magnetar.broker.threads import in_thread
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.message import compression, metadata
from magnetar.message.metadata import ChunkInfo
from magnetar.model.position import Position

from .entries import TurnTaker, entries_back, entries_from
from .stored import UNPACKED_BYTES_MAX, StoredMessage, messages_in

CHUNKED_BYTES_MAX: Final = 16 * 1024 * 1024
"""A message in chunks that is put together; of a larger one each chunk is shown."""
CHUNK_ENTRIES_MAX: Final = 500
"""How far on either side of a chunk the others are looked for;"""
GATHERED_BYTES_MAX: Final = 64 * 1024 * 1024
"""and how much is read for that in a page."""

_Parts = dict[int, StoredMessage]
_Whole = tuple[str, ChunkInfo]
"""What all chunks of a message have in common: its producer, and its place but for the index."""


class ChunkedMessages:
    """Puts together those of one log, for one page."""

    def __init__(self, log: TopicLog, slices: TurnTaker, *, waits: bool = False) -> None:
        """``waits``: a chunk whose last one is not there yet is not shown, since that will come."""
        self._log = log
        self._slices = slices
        self._waits = waits
        self._bytes_left = GATHERED_BYTES_MAX
        self._complete: dict[_Whole, bool] = {}
        self._kept: tuple[_Whole | None, _Parts] = None, {}  # Those that were gathered last.

    async def shown(self, message: StoredMessage) -> StoredMessage | None:
        """The whole message at its last chunk, None at others; what cannot be whole as it is.

        Raises what the stores raise.
        """
        place = message.chunk
        if place is None or message.encryption_keys:
            return message
        if place.total_size > CHUNKED_BYTES_MAX:
            message.unreadable += f"; more than {CHUNKED_BYTES_MAX} bytes are not put together here"
            return message
        if self._waits and not place.last:
            return None
        whole = _whole(message.producer, place)
        kept, parts = self._kept
        if kept != whole and (place.last or whole not in self._complete):
            parts = await self._gathered(message, place)
            self._kept = whole, parts
            # A producer may number them as it likes.
            self._complete[whole] = parts.keys() == set(range(len(parts))) and (
                len(parts) == place.count
            )
        if not self._complete[whole]:
            message.unreadable += "; not all chunks are here"
            return message
        return await in_thread(_joined, parts) if place.last else None

    async def _gathered(self, message: StoredMessage, place: ChunkInfo) -> _Parts:
        parts, whole = {place.index: message}, _whole(message.producer, place)
        if place.index:
            await self._find(entries_back(self._log, message.position), whole, parts, 0)
        if not place.last:
            after = self._log.next_position(message.position)
            await self._find(entries_from(self._log, after), whole, parts, place.count - 1)
        return parts

    async def _find(
        self,
        entries: AsyncIterator[tuple[Position, bytes]],
        whole: _Whole,
        parts: _Parts,
        until: int,
    ) -> None:
        """Add chunks until this one is found, or was looked for far enough."""
        uuid, count = whole[1].uuid.encode(), 0
        async for position, entry in entries:
            count += 1
            self._bytes_left -= len(entry)
            await self._slices.turn()
            place = _place_of(entry, whole) if uuid in entry else None
            if place is not None and place.index not in parts:
                parts[place.index] = next(messages_in(position, entry))  # A chunk is one.
            if until in parts or count >= CHUNK_ENTRIES_MAX or self._bytes_left <= 0:
                return


def _whole(producer: str, place: ChunkInfo) -> _Whole:
    return producer, replace(place, index=0)


def _place_of(entry: bytes, whole: _Whole) -> ChunkInfo | None:
    """Where an entry is in this message; None for one of another, which is not unpacked."""
    try:
        said = metadata.parse(entry)
    except CorruptEntry:
        return None
    place = said.chunk
    return place if place is not None and _whole(said.producer_name, place) == whole else None


def _joined(parts: _Parts) -> StoredMessage:
    """The message that all chunks make up."""
    ordered = [parts[index] for index in range(len(parts))]
    last = ordered[-1]
    positions = tuple(each.position for each in ordered)
    packed = b"".join(each.data for each in ordered)
    try:
        payload = compression.decompress(
            last.compression, packed, last.uncompressed_size, size_max=UNPACKED_BYTES_MAX
        )
    except (CorruptEntry, MessageTooLarge) as error:
        return replace(last, chunks=positions, unreadable=str(error))
    return replace(last, chunks=positions, payload=payload, size=len(payload), unreadable="")
