"""Snapshots of a topic over clusters: when one is complete, and which of them are kept. Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from magnetar.message.subscription_markers import Snapshot
from magnetar.model.position import Position

_local: Final = attrgetter("local")


class SnapshotRound:
    """A snapshot that is being taken, by the answers of the other clusters.

    Where there are several they are asked twice: what one of them had from another when it answered
    first is here when that other one has answered again. The places are those of the first answers.
    """

    __slots__ = ("_missing", "_others", "began_at", "positions", "rounds_left")

    def __init__(self, others: Iterable[str], began_at: float) -> None:
        self.began_at = began_at
        self.positions: dict[str, Position] = {}
        self._others = frozenset(others)
        self._missing = set(self._others)
        self.rounds_left = 2 if len(self._others) > 1 else 1

    def answered(self, cluster: str, position: Position) -> bool:
        """Take an answer; true where it is the last one of a round."""
        if cluster not in self._missing:
            return False
        self.positions.setdefault(cluster, position)
        self._missing.discard(cluster)
        if self._missing:
            return False
        self._missing = set(self._others)
        self.rounds_left -= 1
        return True


class SnapshotsAhead:
    """The snapshots that a subscription has not come past, in the order of the log.

    Of more than ``count_max`` the oldest and the latest stay, and every second one between them: a
    subscription that is far behind passes one sooner or later.
    """

    __slots__ = ("_count_max", "_snapshots")

    def __init__(self, count_max: int) -> None:
        self._count_max = max(count_max, 2)
        self._snapshots: list[Snapshot] = []

    def __len__(self) -> int:
        return len(self._snapshots)

    def add(self, snapshot: Snapshot) -> None:
        """Take one, wherever it belongs; one that is there already is left out."""
        at = bisect_left(self._snapshots, snapshot.local, key=_local)
        if self._snapshots[at : at + 1] and self._snapshots[at].local == snapshot.local:
            return
        self._snapshots.insert(at, snapshot)
        if len(self._snapshots) > self._count_max:
            del self._snapshots[1:-1:2]

    def passed(self, mark: Position) -> Snapshot | None:
        """Take out all up to a mark, and return the latest of them."""
        end = bisect_right(self._snapshots, mark, key=_local)
        if not end:
            return None
        latest = self._snapshots[end - 1]
        del self._snapshots[:end]
        return latest
