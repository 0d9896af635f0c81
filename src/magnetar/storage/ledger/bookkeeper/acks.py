"""Which entries of a ledger are confirmed, as bookies acknowledge them. Pure.

Entry e goes to the ``write_quorum`` positions of the ensemble from e modulo its size on. What one
position has is kept as one number, up to which it has all that it was to get; what it acknowledged
beyond a gap waits. An entry is confirmed when ``ack_quorum`` of its positions have it and the one
before it is confirmed: then nobody can lose it, or find it and not the one before.
"""

from .distribution import write_set


class Acks:
    """What each position of an ensemble has acknowledged."""

    def __init__(self, ensemble_size: int, write_quorum: int, ack_quorum: int) -> None:
        self._size = ensemble_size
        self._write_quorum = write_quorum
        self._ack_quorum = ack_quorum
        self._next = [self._first_at(position, 0) for position in range(ensemble_size)]
        self._beyond: list[set[int]] = [set() for _ in range(ensemble_size)]

    def note(self, position: int, first: int, last: int) -> bool:
        """Note consecutive entries that a position acknowledged, perhaps not for the first time.

        Whether it has an entry now, and all before it, that it had not.
        """
        beyond = self._beyond[position]
        in_order = first == self._next[position]
        if in_order and self._size == self._write_quorum and not beyond:
            self._next[position] = last + 1  # As they mostly come.
            return True
        before = self._next[position]
        beyond.update(range(max(first, self._next[position]), last + 1))
        while self._next[position] in beyond:
            beyond.discard(self._next[position])
            self._next[position] = self._first_at(position, self._next[position] + 1)
        return self._next[position] > before

    def forget(self, position: int, first: int) -> None:
        """Another bookie is at a position, and has nothing from entry ``first`` on."""
        self._beyond[position].clear()
        self._next[position] = self._first_at(position, first)

    def lacks(self, position: int, upto: int) -> bool:
        """Whether a position has not acknowledged all up to an entry."""
        return self._next[position] <= upto

    @property
    def confirmed(self) -> int:
        """The last entry that is confirmed; -1: none."""
        if self._size == self._write_quorum:
            return sorted(self._next)[-self._ack_quorum] - 1
        return min(map(self._first_missing, range(self._size))) - 1

    def _first_missing(self, rest: int) -> int:
        """The first entry, of those that are ``rest`` modulo the size, that too few have."""
        positions = write_set(rest, self._size, self._write_quorum)
        nexts = sorted(self._next[position] for position in positions)
        reached = nexts[-self._ack_quorum]  # So many positions have what is before.
        return reached + (rest - reached) % self._size

    def _first_at(self, position: int, entry: int) -> int:
        """The first entry from ``entry`` on that goes to a position."""
        while (position - entry) % self._size >= self._write_quorum:
            entry += 1
        return entry
