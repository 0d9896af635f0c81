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

_TRUSTED: Final = "trusted"  # In a run's memo, as are the two sums.
_MESSAGES: Final = "messages"
_SIZE_BYTES: Final = "size_bytes"
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


class Weighed(NamedTuple):
    """A run, cut around its unreadable entries: every weight is known."""

    runs: list[EntryRun]
    chunks: list[dict[int, Chunk]]
    """Parallel to ``runs``: the entries that are parts of chunked messages, by index."""
    corrupt: list[Position]
    """Entries whose metadata nobody can read."""


def weigh(run: EntryRun) -> Weighed:
    """The run with all weights known. The run itself is not changed."""
    memo = run.memo
    if _TRUSTED in memo:
        return Weighed([run], [{}], [])
    known: Weighed | None = memo.get(Weighed)
    if known is not None:
        return known
    if _trustworthy(run):
        # Without the run itself: one that refers to itself would outlive its readers.
        memo[_TRUSTED] = True
        return Weighed([run], [{}], [])
    weighed = memo[Weighed] = _look_into(run, list(run.weights))
    return weighed


def messages_in(run: EntryRun) -> int:
    """How many messages a weighed run holds; counted once for all who are given it."""
    known: int | None = run.memo.get(_MESSAGES)
    if known is None:
        known = run.memo[_MESSAGES] = sum(run.weights)
    return known


def size_bytes_of(run: EntryRun) -> int:
    """The bytes of a run's entries; added up once for all who are given it."""
    known: int | None = run.memo.get(_SIZE_BYTES)
    if known is None:
        known = run.memo[_SIZE_BYTES] = sum(map(len, run.data))
    return known


def _trustworthy(run: EntryRun) -> bool:
    """All weights are known, and all entries begin as metadata does.

    Every client writes the producer's name, field 1, first. So garbage is noticed without parsing
    what is not.
    """
    if 0 in run.weights:
        return False
    try:
        return set(map(_FIRST_BYTE, run.data)) == {_PRODUCER_NAME}
    except IndexError:
        return False


def _look_into(run: EntryRun, weights: list[int]) -> Weighed:
    corrupt: list[Position] = []
    chunks: dict[int, Chunk] = {}
    for index, entry in enumerate(run.data):
        if weights[index] and entry[4:5] == bytes([_PRODUCER_NAME]):
            continue
        try:
            seen = metadata.peek(entry)
        except CorruptEntry:
            corrupt.append(Position(run.ledger_id, run.first_entry_id + index))
            continue
        weights[index] = max(seen.message_count, 1)
        if seen.chunk_uuid is not None:
            chunks[index] = Chunk(seen.chunk_uuid, seen.chunk_id, seen.num_chunks)
    whole = EntryRun(run.ledger_id, run.first_entry_id, run.data, run.checksums, weights)
    bad = [position.entry_id - run.first_entry_id for position in corrupt]
    spans = [
        (start, stop)
        for start, stop in zip([0, *(index + 1 for index in bad)], [*bad, len(run)], strict=True)
        if start < stop
    ]
    return Weighed(
        [whole.part(start, stop) for start, stop in spans],
        [{i - start: c for i, c in chunks.items() if start <= i < stop} for start, stop in spans],
        corrupt,
    )
