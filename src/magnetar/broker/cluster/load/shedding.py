"""Which bundles leave a broker that has much more to do than the others. Pure.

Usage is averaged over time, with most of it history. A broker more than ``threshold`` above the
mean sheds its busiest bundles until it is ``MARGIN`` below that threshold: between the two nothing
happens, so that a load which wavers around the threshold moves nothing. What was moved counts at
once, at both brokers, where history would have the same load shed minute after minute. A bundle
stays for its grace period where it has been moved to, and goes only where it finds less load after
the move than it leaves behind: one that is too hot for any broker goes nowhere.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass
from magnetar.model.bundles import Bundle

from .report import averaged

MARGIN: Final = 0.05
"""How far below the threshold a broker sheds."""
LOWER_MARGIN: Final = 0.5
"""How much of the threshold's share of traffic leaves the fullest broker for an empty one."""


@dataclass(frozen=True, slots=True)
class SheddingRules:
    """The settings of shedding."""

    threshold: float = 0.10
    history: float = 0.9
    bytes_min: float = 10 * (1 << 20)
    grace_s: float = 1800.0
    lower_boundary: bool = False


class Move(NamedTuple):
    """A bundle that goes to another broker."""

    bundle: Bundle
    source: str
    to: str


class Shedding:
    """Decides at each look what moves. Time, and what brokers do, are arguments."""

    def __init__(self, rules: SheddingRules) -> None:
        self.usage: dict[str, float] = {}  # That of each broker over time.
        self._rules = rules
        self._moved_at: dict[Bundle, float] = {}  # Those within their grace period.

    def look(
        self,
        now: float,
        usage: Mapping[str, float],
        bundles_of: Callable[[str], Mapping[Bundle, float]],
        place: Callable[[Bundle, Mapping[str, float]], str | None],
    ) -> list[Move]:
        """What moves now, given each broker's usage and its bundles, with their bytes a second.

        ``place`` says where a bundle would go, given the usage that is expected; None: nowhere.
        """
        grace = now - self._rules.grace_s
        self._moved_at = {bundle: at for bundle, at in self._moved_at.items() if at > grace}
        self.usage = averaged(self.usage, usage, self._rules.history)
        mean = sum(self.usage.values()) / len(self.usage) if self.usage else 0.0
        moves = [
            move
            for name, share in self._shares(mean)
            for move in self._shed(now, name, share, bundles_of(name), place)
        ]
        if not moves and self._rules.lower_boundary:
            moves = self._fill_emptiest(now, mean, bundles_of, place)
        return moves

    def may_move(self, bundle: Bundle) -> bool:
        """Whether a bundle was not moved within its grace period, as of the last look."""
        return bundle not in self._moved_at

    def _shares(self, mean: float) -> list[tuple[str, float]]:
        """The brokers that shed, and which part of their traffic."""
        upper = mean + self._rules.threshold
        over = sorted(((used, name) for name, used in self.usage.items()), reverse=True)
        return [(name, used - upper + MARGIN) for used, name in over if used > upper]

    def _fill_emptiest(
        self,
        now: float,
        mean: float,
        bundles_of: Callable[[str], Mapping[Bundle, float]],
        place: Callable[[Bundle, Mapping[str, float]], str | None],
    ) -> list[Move]:
        """Where a broker is far below the mean, the fullest one sheds."""
        if not self.usage or min(self.usage.values()) > mean - self._rules.threshold:
            return []
        fullest = max(self.usage, key=lambda name: (self.usage[name], name))
        share = self._rules.threshold * LOWER_MARGIN
        return self._shed(now, fullest, share, bundles_of(fullest), place)

    def _shed(
        self,
        now: float,
        name: str,
        share: float,
        bundles: Mapping[Bundle, float],
        place: Callable[[Bundle, Mapping[str, float]], str | None],
    ) -> list[Move]:
        """Move that share of a broker's traffic; nothing where that is too little to matter."""
        total = sum(bundles.values())
        wanted = total * share
        if len(bundles) < 2 or wanted <= 0 or wanted < self._rules.bytes_min:
            return []
        moves, used = [], self.usage[name]
        for bundle, traffic in _busiest_first(bundles):
            if wanted <= 0 or traffic <= 0:
                break
            to = place(bundle, self.usage) if self.may_move(bundle) else None
            moved = used * traffic / total
            if to is None or to == name or self.usage[to] + moved >= self.usage[name]:
                continue  # A smaller one may do.
            self.usage[name] -= moved
            self.usage[to] += moved
            self._moved_at[bundle] = now
            moves.append(Move(bundle, name, to))
            wanted -= traffic
        return moves


def _busiest_first(bundles: Mapping[Bundle, float]) -> Iterable[tuple[Bundle, float]]:
    return sorted(bundles.items(), key=lambda each: (-each[1], each[0]))
