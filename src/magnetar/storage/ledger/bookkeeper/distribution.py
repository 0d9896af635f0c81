"""Which positions of an ensemble have an entry, and how many of them are enough. Pure.

Entry e is at as many positions as the write quorum says, from e modulo the size of the ensemble on.
"""

from collections.abc import Sequence


def write_set(entry_id: int, ensemble_size: int, write_quorum: int) -> tuple[int, ...]:
    """The positions of an entry, in the order in which they are asked for it."""
    return tuple((entry_id + offset) % ensemble_size for offset in range(write_quorum))


def covered(heard: Sequence[bool], write_quorum: int, ack_quorum: int) -> bool:
    """Whether so many positions were heard that no entry can be confirmed by the others alone."""
    size = len(heard)
    return all(
        sum(not heard[position] for position in write_set(first, size, write_quorum)) < ack_quorum
        for first in range(size)
    )


def absent(negative: int, write_quorum: int, ack_quorum: int) -> bool:
    """Whether an entry was never confirmed, when so many of its positions do not have it."""
    return negative > write_quorum - ack_quorum
