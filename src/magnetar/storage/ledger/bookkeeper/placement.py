"""Which bookies a ledger is written to. Pure.

Bookies that are to be avoided are taken only where there are too few others. All copies of an entry
are on some racks at least, as long as there are bookies for that: each write quorum is as many
neighbours in the ensemble, whose last one stands beside its first, and is looked at for itself.
Without bookies for that the racks are fewer, unless that is refused.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import field
from hashlib import blake2b
from typing import Final

from magnetar.errors import NotEnoughBookies
from magnetar.late_dataclass import dataclass

from .distribution import write_set
from .racks import IsolationGroups, Racks

STEPS_MAX: Final = 2_000
"""So many bookies are tried for an ensemble before one on fewer racks is looked for."""


@dataclass(frozen=True, slots=True)
class PlacementRule:
    """What is asked of an ensemble."""

    racks_min: int = 2  # Of each write quorum; 1: racks are not looked at.
    enforced: bool = False  # Rather no ledger than one on fewer racks.
    groups: IsolationGroups = field(default_factory=IsolationGroups)


@dataclass(frozen=True, slots=True)
class Placement:
    """What a choice depends on."""

    bookies: Sequence[str]  # Those that can be written to.
    racks: Racks
    avoided: Collection[str]
    turn: Iterator[int]  # Its next number says which of several that fit are taken.
    rule: PlacementRule

    def choose(self, size: int, write_quorum: int) -> tuple[str, ...]:
        """The ensemble of a new ledger. Raises NotEnoughBookies."""
        return self._filled([None] * size, write_quorum, taken=())

    def replace(
        self, ensemble: tuple[str, ...], failed: Collection[str], write_quorum: int
    ) -> tuple[str, ...]:
        """The ensemble with others where some failed. Raises NotEnoughBookies."""
        kept = [None if each in failed else each for each in ensemble]
        return self._filled(kept, write_quorum, taken={*ensemble, *failed})

    def has_spare(self, ensemble: Collection[str]) -> bool:
        """Whether there is a bookie to replace one of an ensemble with."""
        allowed = self.rule.groups.allowed(self.bookies, self.racks, len(ensemble))
        return bool(set(allowed) - set(ensemble) - set(self.avoided))

    def _filled(
        self, kept: list[str | None], write_quorum: int, taken: Collection[str]
    ) -> tuple[str, ...]:
        size, turn = len(kept), next(self.turn)
        allowed = self.rule.groups.allowed(self.bookies, self.racks, size)
        free = [each for each in _shuffled(allowed, turn) if each not in taken]
        fit = [each for each in free if each not in self.avoided]
        last = [each for each in free if each in self.avoided]
        racks_min = min(self.rule.racks_min, write_quorum)
        for pool in (fit, fit + last):
            for racks in range(racks_min, racks_min - 1 if self.rule.enforced else 0, -1):
                found = _Search(kept, pool, self.racks, write_quorum, racks).run()
                if found is not None:
                    return found
        raise NotEnoughBookies(self._lack(size, racks_min, allowed, taken))

    def _lack(
        self, size: int, racks_min: int, allowed: Collection[str], taken: Collection[str]
    ) -> str:
        groups = ",".join(self.rule.groups.primary + self.rule.groups.secondary)
        another = f"another one than {sorted(taken)}" if taken else f"{size} of them"
        return (
            f"a ledger on {size} bookies needs {another}, and there are {len(allowed)} "
            f"that take writes{f' in the groups {groups}' if groups else ''}"
            + (f", on {len(self.racks.among(allowed))} racks" if self.rule.enforced else "")
            + ": start bookies, or ask for smaller ensembles (managedLedgerDefaultEnsembleSize, or "
            "a namespace's persistence policy)"
            + (
                f", or for fewer racks than {racks_min} (bookkeeperClientMinNumRacksPerWriteQuorum)"
                if self.rule.enforced
                else ""
            )
        )


class _Search:
    """Tries bookies in the empty positions of an ensemble, one of each rack, until all fit."""

    def __init__(
        self,
        kept: list[str | None],
        pool: Sequence[str],
        racks: Racks,
        write_quorum: int,
        racks_min: int,
    ) -> None:
        self._chosen = list(kept)
        self._empty = [position for position, each in enumerate(kept) if each is None]
        self._pool = pool
        self._racks = racks
        self._racks_min = racks_min
        self._write_sets = [write_set(first, len(kept), write_quorum) for first in range(len(kept))]
        self._steps = 0

    def run(self) -> tuple[str, ...] | None:
        """The ensemble; None where there is none."""
        if len(self._pool) < len(self._empty) or not self._fill(0):
            return None
        return tuple(each for each in self._chosen if each is not None)

    def _fill(self, number: int) -> bool:
        if number == len(self._empty):
            return True
        position = self._empty[number]
        tried = set()
        for each in self._pool:
            rack = self._racks.by_bookie.get(each, "")
            if each in self._chosen or rack in tried:
                continue
            tried.add(rack)
            self._steps += 1
            if self._steps > STEPS_MAX:
                break
            self._chosen[position] = each
            if self._fits(position) and self._fill(number + 1):
                return True
            self._chosen[position] = None
        return False

    def _fits(self, position: int) -> bool:
        """Whether all write quorums of a position may have enough racks."""
        if self._racks_min == 1:
            return True
        for positions in self._write_sets:
            if position in positions:
                there = [each for at in positions if (each := self._chosen[at]) is not None]
                empty = len(positions) - len(there)
                if len(self._racks.among(there)) + empty < self._racks_min:
                    return False
        return True


def _shuffled(bookies: Sequence[str], turn: int) -> list[str]:
    """All of them, in an order that is another one in each turn, so that each has its share."""
    return sorted(bookies, key=lambda each: blake2b(f"{turn} {each}".encode()).digest())
