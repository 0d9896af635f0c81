"""A range in pieces of about as many entries each, for tasks side by side. Pure.

Pieces end between two entries, so each message is in one of them.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from magnetar.model.position import Position
from magnetar.spark.offsets import Offset
from magnetar.spark.planning import Range, cut

ENTRIES_MIN: Final = 100
"""The least entries of a piece by default: a task costs as much as thousands of messages."""


class LedgerRange(NamedTuple):
    """The entries of a ledger that a range has: from ``first`` to before ``stop``."""

    ledger_id: int
    first: int
    stop: int


def counts(sizes: Sequence[int], pieces_min: int, entries_min: int) -> list[int]:
    """How many pieces each of some ranges is read in, by how many entries it has.

    Together they are ``pieces_min`` or more, but for ranges of few entries.
    """
    total = max(sum(sizes), 1)
    pieces = min(pieces_min, max(total // entries_min, 1))
    return [max(-(-size * pieces // total), 1) for size in sizes]


def divided(wanted: Range, parts: Sequence[LedgerRange], count: int) -> list[Range]:
    """The range in ``count`` pieces, fewer where it has fewer entries."""
    stops = list(accumulate(part.stop - part.first for part in parts))
    count = min(count, stops[-1])
    places = []
    for number in range(1, count):
        target = stops[-1] * number // count
        index = next(index for index, stop in enumerate(stops) if target < stop)
        part = parts[index]
        places.append(Position(part.ledger_id, part.stop - (stops[index] - target)))
    return cut(wanted, map(Offset.before, places))
