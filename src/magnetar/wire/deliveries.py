"""Messages for a consumer out of a run of entries, column by column. Pure.

As with receipts, all heads of a run differ in a few bytes only: entry id, sizes, checksum. One head
is written and repeated, each byte that differs is put into all of them by one assignment to a slice
with a stride, and heads and entries are interleaved by C loops. ``replies.message`` makes the same
bytes one by one.

    totalSize(4) commandSize(4) 08 09 4a size  08 consumer 12 size { 08 ledger 10 entry
    18 partition }  [18 redeliveries] [20 word ...] [28 epoch]  0e 01 checksum(4) entry
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain, groupby, repeat
from struct import Struct, pack
from typing import Protocol, TypeVar

from magnetar.inner.varint import Stretch, stretches, varint

T = TypeVar("T")

# Entries that are smaller on average are joined into one piece: copying them costs less than
# handing each of them to the transport.
JOINED_SIZE_MAX = 4096

_SIZES = Struct(">II").pack
_SINGLY_MAX = 3  # runs that short are quicker made one by one


class Run(Protocol):
    """Consecutive entries of one ledger, as parallel lists: the form of the log's own runs."""

    ledger_id: int
    first_entry_id: int
    data: list[bytes]
    checksums: list[int]

    def __len__(self) -> int: ...


def message_frames(
    consumer_id: int,
    run: Run,
    *,
    partition: int,
    picked: Sequence[int] | None = None,
    redelivery_counts: Sequence[int] | None = None,
    ack_sets: Sequence[Sequence[int]] | None = None,
    consumer_epoch: int | None = None,
) -> list[bytes]:
    """One MESSAGE for each entry of the run, as pieces to be written one after the other.

    Or for those ``picked``: indexes, ascending, at least one. The other sequences run parallel to
    what is sent. A redelivery count of 0, an empty ack set and an epoch of None are not sent.
    """
    pieces: list[bytes] = []
    epoch = b"" if consumer_epoch is None else b"\x28" + varint(consumer_epoch)
    indexes = range(len(run)) if picked is None else picked
    for start, stop, rest in _alike(len(indexes), redelivery_counts, ack_sets):
        command = _command(consumer_id, run.ledger_id, partition, rest + epoch)
        part = indexes[start:stop]
        if stop - start <= _SINGLY_MAX:
            pieces += command.singly(run, part)
            continue
        for stretch, those in _stretches(run.first_entry_id, part):
            data, checksums = _of(run.data, those), _of(run.checksums, those)
            pieces += command.over(stretch, data, checksums)
    return pieces


def _stretches(first: int, part: Sequence[int]) -> Iterator[tuple[Stretch, Sequence[int]]]:
    """Entries ``part`` of a run that begins with ``first``, cut where their varints change.

    The columns of a stretch are those of its entries alone.
    """
    begin = part[0]
    for stretch in stretches(first + begin, part[-1] + 1 - begin):
        start, stop = begin + stretch.start, begin + stretch.stop
        those = part[bisect_left(part, start) : bisect_left(part, stop)]
        if len(those) == stop - start:
            yield stretch, range(start, stop)
        elif those:
            at = [index - start for index in those]
            columns = tuple(bytes(map(column.__getitem__, at)) for column in stretch.columns)
            yield Stretch(stretch.start, stretch.stop, columns, stretch.rest), those


def _of(column: list[T], indexes: Sequence[int]) -> list[T]:
    if isinstance(indexes, range):
        return column[indexes.start : indexes.stop]
    return list(map(column.__getitem__, indexes))


def _alike(
    count: int,
    redelivery_counts: Sequence[int] | None,
    ack_sets: Sequence[Sequence[int]] | None,
) -> Iterator[tuple[int, int, bytes]]:
    """Parts of the run, from and to, with the fields that all their messages have in common."""
    if not (redelivery_counts and any(redelivery_counts)) and not (ack_sets and any(ack_sets)):
        yield 0, count, b""
        return
    counts = redelivery_counts or [0] * count
    words = map(tuple, ack_sets) if ack_sets else repeat((), count)
    start = 0
    for (redeliveries, ack_set), group in groupby(zip(counts, words, strict=True)):
        stop = start + sum(1 for _ in group)
        fields = b"\x18" + varint(redeliveries) if redeliveries else b""
        yield start, stop, fields + b"".join(b"\x20" + varint(word) for word in ack_set)
        start = stop


class _Command:
    """The command of some messages, all but the entry id."""

    def __init__(self, consumer_id: int, ledger_id: int, partition: int, rest: bytes) -> None:
        self._consumer = varint(consumer_id)
        self._ledger = varint(ledger_id)
        self._behind_entry = b"\x18" + varint(partition)
        self._rest = rest
        self._around: dict[int, tuple[bytes, bytes]] = {}

    def around(self, width: int) -> tuple[bytes, bytes]:
        """What stands before an entry id of ``width`` bytes, and behind it."""
        known = self._around.get(width)
        if known is None:
            behind = self._behind_entry + self._rest
            message_id = b"\x08%b\x10" % self._ledger
            id_size = len(message_id) + width + len(self._behind_entry)
            message = b"\x08%b\x12%c%b" % (self._consumer, id_size, message_id)
            size = varint(len(message) + width + len(behind))
            known = self._around[width] = b"\x08\x09\x4a%b%b" % (size, message), behind
        return known

    def singly(self, run: Run, indexes: Sequence[int]) -> list[bytes]:
        pieces = []
        for index in indexes:
            entry = run.data[index]
            entry_id = varint(run.first_entry_id + index)
            before, behind = self.around(len(entry_id))
            size = len(before) + len(entry_id) + len(behind)
            sizes = _SIZES(10 + size + len(entry), size)
            checksum = run.checksums[index].to_bytes(4)
            pieces += [b"%b%b%b%b\x0e\x01%b" % (sizes, before, entry_id, behind, checksum), entry]
        if sum(map(len, pieces)) < JOINED_SIZE_MAX * len(indexes):
            return [b"".join(pieces)]
        return pieces

    def over(self, stretch: Stretch, data: list[bytes], checksums: list[int]) -> list[bytes]:
        count = len(data)
        before, behind = self.around(stretch.width)
        command = b"%b%b%b%b" % (before, bytes(len(stretch.columns)), stretch.rest, behind)
        head = _SIZES(10 + len(command) + len(data[0]), len(command)) + command
        head += b"\x0e\x01" + bytes(4)
        size = len(head)
        heads = bytearray(head * count)
        sizes = list(map(len, data))
        if sizes.count(sizes[0]) != count:
            totals = pack(f">{count}I", *map((10 + len(command)).__add__, sizes))
            for byte in range(4):
                heads[byte::size] = totals[byte::4]
        at = 8 + len(before)
        for byte, column in enumerate(stretch.columns, at):
            heads[byte::size] = column
        sums = pack(f">{count}I", *checksums)
        for byte in range(4):
            heads[size - 4 + byte :: size] = sums[byte::4]
        each = chain.from_iterable(Struct(f"{size}s").iter_unpack(heads))
        pieces = chain.from_iterable(zip(each, data, strict=True))
        if sum(sizes) < JOINED_SIZE_MAX * count:
            return [b"".join(pieces)]
        return list(pieces)


# Most messages of a consumer differ in their entries only.
_command = lru_cache(maxsize=1024)(_Command)
