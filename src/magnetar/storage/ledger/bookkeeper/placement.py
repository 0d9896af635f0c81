"""Which bookies a ledger is written to. Pure.

Bookies that are to be avoided are taken only where there are too few others. Where racks are known,
neighbours in an ensemble are on different ones as long as there are bookies for that, so that no
rack has all copies of an entry.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from magnetar.errors import NotEnoughBookies


@dataclass(frozen=True, slots=True)
class Placement:
    """What a choice depends on."""

    bookies: Sequence[str]  # Those that can be written to.
    racks: Mapping[str, str]  # By bookie, where it is known.
    avoided: Collection[str]
    turn: Iterator[int]  # Its next number says which of several that fit is taken.

    def choose(self, size: int) -> tuple[str, ...]:
        """The ensemble of a new ledger. Raises NotEnoughBookies."""
        chosen: list[str] = []
        while len(chosen) < size:
            chosen.append(self._another(size, chosen, chosen[-1:]))
        return tuple(chosen)

    def replace(self, ensemble: tuple[str, ...], failed: Collection[str]) -> tuple[str, ...]:
        """The ensemble with others where some failed. Raises NotEnoughBookies."""
        changed = list(ensemble)
        for position, bookie_id in enumerate(ensemble):
            if bookie_id in failed:
                beside = (changed[position - 1], changed[(position + 1) % len(changed)])
                taken = {*ensemble, *changed, *failed}
                changed[position] = self._another(len(ensemble), taken, beside)
        return tuple(changed)

    def _another(self, size: int, taken: Collection[str], beside: Collection[str]) -> str:
        free = [each for each in self.bookies if each not in taken]
        if not free:
            raise NotEnoughBookies(
                f"a ledger on {size} bookies needs another one than {sorted(taken)}, and there "
                f"are {len(self.bookies)} that take writes: start bookies, or ask for smaller "
                "ensembles (managedLedgerDefaultEnsembleSize, or a namespace's persistence policy)"
            )
        fit = [each for each in free if each not in self.avoided] or free
        near = {self.racks.get(each) for each in beside} - {None}
        fit = [each for each in fit if self.racks.get(each) not in near] or fit
        return fit[next(self.turn) % len(fit)]
