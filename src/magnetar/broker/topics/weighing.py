"""How many messages each entry of a run holds, and which entries are parts of chunked messages.

Entries fresh from a producer come with their count; those read back from disk are weighed here,
once, for all subscriptions that share the run. Pure.
"""

from operator import itemgetter
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry
from magnetar.message import metadata
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.run import EntryRun

_CHUNKS: Final = "chunks"
_WEIGHED: Final = "weighed"
_PRODUCER_NAME: Final = 0x0A
_FIRST_BYTE: Final = itemgetter(4)  # Of the metadata, behind its size.


class Chunk(NamedTuple):
    """An entry that is part ``chunk_id`` of ``num_chunks`` of the message ``uuid``."""

    uuid: str
    chunk_id: int
    num_chunks: int

    @property
    def last(self) -> bool:
        return self.chunk_id == self.num_chunks - 1


def weigh(run: EntryRun) -> list[Position]:
    """Fill in unknown weights. Returns the entries whose metadata nobody can read; they keep 0."""
    weights = run.weights
    if _WEIGHED not in run.memo:
        run.memo[_WEIGHED] = True
        _doubt(run)
    if 0 not in weights:
        return []
    corrupt: list[Position] = []
    chunks: dict[int, Chunk] = {}
    for index, weight in enumerate(weights):
        if weight:
            continue
        try:
            seen = metadata.peek(run.data[index])
        except CorruptEntry:
            corrupt.append(Position(run.ledger_id, run.first_entry_id + index))
            continue
        weights[index] = max(seen.message_count, 1)
        if seen.chunk_uuid is not None:
            chunks[index] = Chunk(seen.chunk_uuid, seen.chunk_id, seen.num_chunks)
    if chunks:
        run.memo[_CHUNKS] = chunks
    return corrupt


def _doubt(run: EntryRun) -> None:
    """Set to 0 the weights of entries that do not begin as metadata does: they must be read.

    Every client writes the producer's name, field 1, first. So garbage is noticed without parsing
    what is not.
    """
    try:
        beginnings = set(map(_FIRST_BYTE, run.data))
    except IndexError:
        beginnings = set()
    if beginnings == {_PRODUCER_NAME}:
        return
    for index, entry in enumerate(run.data):
        if entry[4:5] != bytes([_PRODUCER_NAME]):
            run.weights[index] = 0


def chunks_of(run: EntryRun) -> dict[int, Chunk]:
    """The entries of a weighed run that are parts of chunked messages, by index."""
    found: dict[int, Chunk] = run.memo.get(_CHUNKS, {})
    return found


def readable(run: EntryRun) -> tuple[list[EntryRun], list[Position]]:
    """A run weighed, and cut around its unreadable entries; those come second."""
    corrupt = weigh(run)
    if not corrupt:
        return [run], []
    parts: list[EntryRun] = []
    start = 0
    for position in corrupt:
        index = position.entry_id - run.first_entry_id
        if index > start:
            parts.append(_weighed_part(run, start, index))
        start = index + 1
    if start < len(run):
        parts.append(_weighed_part(run, start, len(run)))
    return parts, corrupt


def _weighed_part(run: EntryRun, start: int, stop: int) -> EntryRun:
    part = run.part(start, stop)
    chunks = {i - start: chunk for i, chunk in chunks_of(run).items() if start <= i < stop}
    if chunks and part is not run:
        part.memo[_CHUNKS] = chunks
    return part
