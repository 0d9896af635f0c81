"""A set of entries, in little memory: a bit for each, in chunks of consecutive entries. Pure."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from magnetar.model.position import Position

CHUNK_BITS: Final = 12
CHUNK_ENTRIES: Final = 1 << CHUNK_BITS
"""Entries of a chunk: a set of few entries that lie far apart takes a chunk for each of them."""

_WITHIN: Final = CHUNK_ENTRIES - 1
_ALL: Final = (1 << CHUNK_ENTRIES) - 1


class EntrySet:
    """Entries come and go in lists."""

    __slots__ = ("_ledgers", "count")

    def __init__(self) -> None:
        # Invariant: no ledger is empty, and no chunk.
        self._ledgers: dict[int, dict[int, int]] = {}
        self.count = 0

    def add(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Add entries, in any order."""
        if entry_ids:
            here = self._ledgers.setdefault(ledger_id, {})
            for chunk, bits in _masks(entry_ids):
                self._merge(here, chunk, bits)

    def discard(self, ledger_id: int, entry_ids: Sequence[int]) -> None:
        """Take entries out, in any order; those that are not in it are ignored."""
        here = self._ledgers.get(ledger_id)
        if here is not None:
            for chunk, bits in _masks(entry_ids):
                self._remove(here, chunk, bits)
            self._forget_if_empty(ledger_id)

    def discard_range(self, ledger_id: int, first: int, last: int) -> None:
        """Take entries ``first`` to ``last`` out."""
        here = self._ledgers.get(ledger_id)
        if here is None or last < first:
            return
        for chunk in [each for each in here if first >> CHUNK_BITS <= each <= last >> CHUNK_BITS]:
            start = max(first - (chunk << CHUNK_BITS), 0)
            stop = min(last - (chunk << CHUNK_BITS), _WITHIN) + 1
            self._remove(here, chunk, ((1 << (stop - start)) - 1) << start)
        self._forget_if_empty(ledger_id)

    def drop_through(self, position: Position) -> None:
        """Take out everything at ``position`` or before it."""
        for ledger_id in [known for known in self._ledgers if known <= position.ledger_id]:
            if ledger_id == position.ledger_id:
                self.discard_range(ledger_id, 0, position.entry_id)
            else:
                gone = self._ledgers.pop(ledger_id)
                self.count -= sum(map(int.bit_count, gone.values()))

    def clear(self) -> None:
        self._ledgers.clear()
        self.count = 0

    def update(self, other: "EntrySet") -> None:
        """Add the entries of another set."""
        for ledger_id, chunk, bits in other.chunks():
            self.add_chunk(ledger_id, chunk, bits)

    def count_after(self, position: Position) -> int:
        """How many lie after ``position``."""
        found = 0
        for ledger_id, here in self._ledgers.items():
            if ledger_id > position.ledger_id:
                found += sum(map(int.bit_count, here.values()))
            elif ledger_id == position.ledger_id:
                after = position.entry_id + 1
                for chunk, bits in here.items():
                    found += (bits >> max(after - (chunk << CHUNK_BITS), 0)).bit_count()
        return found

    def has(self, ledger_id: int, entry_id: int) -> bool:
        here = self._ledgers.get(ledger_id)
        return here is not None and bool(
            here.get(entry_id >> CHUNK_BITS, 0) >> (entry_id & _WITHIN) & 1
        )

    def end_of(self, ledger_id: int, entry_id: int) -> int | None:
        """The last of the consecutive entries from ``entry_id`` on; None: it is not in the set."""
        here = self._ledgers.get(ledger_id)
        if here is None or entry_id < 0:
            return None
        end = entry_id
        while True:
            bits = here.get(end >> CHUNK_BITS, 0) >> (end & _WITHIN)
            ones = (bits ^ (bits + 1)).bit_length() - 1
            end += ones
            if not ones or end & _WITHIN:
                return end - 1 if end > entry_id else None

    def gaps(self, ledger_id: int, first: int, last: int) -> list[tuple[int, int]]:
        """Which of ``first`` to ``last`` are not in the set, as ranges with both ends included."""
        found: list[tuple[int, int]] = []
        while first <= last:
            following = self._first_from(ledger_id, first, last)
            if following is None:
                found.append((first, last))
                break
            if first < following:
                found.append((first, following - 1))
            end = self.end_of(ledger_id, following)
            assert end is not None, "it begins with an entry of the set"
            first = end + 1
        return found

    def chunks(self) -> Iterator[tuple[int, int, int]]:
        """All that is in it, for ``add_chunk``: ledger, chunk and bits."""
        for ledger_id, here in self._ledgers.items():
            for chunk, bits in here.items():
                yield ledger_id, chunk, bits

    def positions(self) -> Iterator[Position]:
        """All entries of the set; those of a chunk ascend."""
        for ledger_id, chunk, bits in self.chunks():
            left, first = bits, chunk << CHUNK_BITS
            while left:
                lowest = left & -left
                yield Position(ledger_id, first + lowest.bit_length() - 1)
                left ^= lowest

    def add_chunk(self, ledger_id: int, chunk: int, bits: int) -> None:
        """Add what ``chunks`` had of another set."""
        if bits & _ALL:
            self._merge(self._ledgers.setdefault(ledger_id, {}), chunk, bits & _ALL)

    def _first_from(self, ledger_id: int, first: int, last: int) -> int | None:
        """The first entry of the set from ``first`` to ``last``."""
        here = self._ledgers.get(ledger_id)
        if here is None:
            return None
        bits = here.get(first >> CHUNK_BITS, 0) >> (first & _WITHIN)
        if bits:
            found = first + (bits & -bits).bit_length() - 1
            return found if found <= last else None
        known = sorted(here)
        at = bisect_left(known, (first >> CHUNK_BITS) + 1)
        if at == len(known):
            return None
        bits = here[known[at]]
        found = (known[at] << CHUNK_BITS) + (bits & -bits).bit_length() - 1
        return found if found <= last else None

    def _merge(self, here: dict[int, int], chunk: int, bits: int) -> None:
        before = here.get(chunk, 0)
        here[chunk] = after = before | bits
        self.count += after.bit_count() - before.bit_count()

    def _remove(self, here: dict[int, int], chunk: int, bits: int) -> None:
        before = here.get(chunk, 0)
        after = before & ~bits
        self.count -= before.bit_count() - after.bit_count()
        if after:
            here[chunk] = after
        else:
            here.pop(chunk, None)

    def _forget_if_empty(self, ledger_id: int) -> None:
        if not self._ledgers[ledger_id]:
            del self._ledgers[ledger_id]


def _masks(entry_ids: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The chunks that entries lie in, and their bits there; a chunk may come more than once."""
    for chunk, those in groupby(entry_ids, CHUNK_BITS.__rrshift__):
        bits = 0
        for entry_id in those:
            bits |= 1 << (entry_id & _WITHIN)
        yield chunk, bits
