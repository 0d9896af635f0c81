"""Messages in chunks, put together for a range. Pure.

A message belongs to the range that its last chunk lies in; its first ones may lie before that.
"""

from math import inf
from typing import Final

from magnetar.client.consumers.entry import Entry
from magnetar.errors import CorruptEntry, MessageTooLarge
from magnetar.message.chunk import Reassembly
from magnetar.message.compression import CompressionType, decompress
from magnetar.model.position import Position

CHUNKED_MESSAGES_MAX: Final = 100
"""Messages of which some chunks are held. For one more the oldest goes, and is looked back for."""
CHUNKED_SIZE_MAX: Final = 256 * 1024 * 1024
"""Bytes of one such message, before and after decompression."""
SEEN_MAX: Final = 10_000
"""Messages that are remembered, complete or not: a producer may send some chunks once more."""
NOT_BEGUN: Final = "its first chunks are not there"


class ChunkedMessages:
    """Takes the chunks of a range in order; knows which messages it has seen the whole of."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew: chunks come from an earlier place on."""
        self._reassembly = Reassembly(
            messages_max=CHUNKED_MESSAGES_MAX,
            age_max_s=inf,
            size_max=CHUNKED_SIZE_MAX,
            drop_oldest=True,
        )
        self._seen: dict[str, bool] = {}  # Those begun, and whether complete; the oldest first.

    def add(self, entry: Entry) -> tuple[Entry | None, str]:
        """Take a chunk. Returns the message that it completes, or why the last one does not."""
        place, position = entry.delivery.metadata.chunk, entry.delivery.position
        assert place is not None, "only chunks are put together"
        if place.index == 0:
            self._note(place.uuid, complete=False)
        try:
            whole = self._reassembly.add(place, entry.payload, position, 0.0)
            self._reassembly.take_dropped()
            joined = None if whole is None else _joined(entry, *whole)
        except (CorruptEntry, MessageTooLarge) as error:
            return None, str(error) if place.last else ""
        if joined is None:
            return None, self._flaw(place.uuid) if place.last else ""
        self._note(place.uuid, complete=True)
        return joined, ""

    def _note(self, uuid: str, *, complete: bool) -> None:
        self._seen.pop(uuid, None)
        self._seen[uuid] = complete
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]

    def _flaw(self, uuid: str) -> str:
        complete = self._seen.get(uuid)
        if complete is None:
            return NOT_BEGUN
        mixed = f"one is missing, or more than {CHUNKED_MESSAGES_MAX} such messages lie mixed"
        return "" if complete else mixed


def _joined(last: Entry, body: bytes, chunks: tuple[Position, ...]) -> Entry:
    metadata = last.delivery.metadata
    if metadata.compression != CompressionType.NONE:
        body = decompress(
            metadata.compression, body, metadata.uncompressed_size, size_max=CHUNKED_SIZE_MAX
        )
    last.delivery.chunks = chunks
    return Entry(last.delivery, body)
