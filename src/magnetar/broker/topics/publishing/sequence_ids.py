"""The highest sequence ids of a topic's producers: which sends are duplicates. Pure.

A producer's sequence ids rise, so a send whose id is not above the highest that was taken from a
producer of this name was sent before. Of the chunks of a message only the last one raises the
highest id: until then the message is not whole.
"""

from collections.abc import Container, Mapping
from itertools import islice
from operator import lt
from types import MappingProxyType
from typing import Final

from magnetar.message.send_run import SendRun
from magnetar.model.position import LONG_MAX, signed

NONE: Final[Mapping[int, bool]] = MappingProxyType({})
UNKNOWN: Final = -1
"""The highest sequence id of an unknown producer."""


class SequenceIds:
    """The sequence ids of each producer, by name.

    ``taken`` are those of sends that wait to be stored, too; after a failed write all of this must
    be given up, and made anew from what the log has.
    """

    __slots__ = ("_idle", "_stored", "_taken")

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}
        self._stored: dict[str, int] = {}  # Invariant: not above what is taken.
        self._idle: dict[str, tuple[int, float]] = {}
        """Since when a producer that is gone has had which highest id, as far as was noticed."""

    def __len__(self) -> int:
        return len(self._stored)

    def last(self, name: str) -> int:
        """The highest that is stored."""
        return self._stored.get(name, UNKNOWN)

    def storing(self, name: str) -> bool:
        """Whether more was taken of a producer than is stored."""
        return self._taken.get(name, UNKNOWN) > self.last(name)

    def duplicates(self, name: str, run: SendRun) -> Mapping[int, bool]:
        """Take a run; return the indexes of the sends in it that were taken before."""
        highest = self._taken.get(name)
        first, top = run.sequences[0], max(run.sequences[-1], run.highest[-1])
        rises = (highest is None or first > highest) and top <= LONG_MAX
        if rises and not run.traits.unusual and _rising(run):
            self._taken[name] = top
            return NONE
        found: dict[int, bool] = {}
        for index, (sequence_id, top, whole) in enumerate(_steps(run)):
            if highest is not None and sequence_id <= highest:
                found[index] = True
            elif whole:
                self._taken[name] = highest = top
        return found

    def take(self, name: str, sequence_id: int) -> bool:
        """Take one message of a producer that is elsewhere; False: it was taken before."""
        if sequence_id <= self._taken.get(name, UNKNOWN):
            return False
        self._taken[name] = sequence_id
        return True

    def stored(self, name: str, run: SendRun) -> None:
        """A run that was taken is durable."""
        if run.traits.unusual:
            tops = [top for _, top, whole in _steps(run) if whole]
        else:
            tops = [max(signed(run.sequences[-1]), signed(run.highest[-1]))]
        for top in tops:
            self.found(name, top)

    def found(self, name: str, sequence_id: int) -> None:
        """One that is stored, wherever that was learned."""
        if sequence_id > self._stored.get(name, UNKNOWN):
            self._stored[name] = sequence_id
        if sequence_id > self._taken.get(name, UNKNOWN):
            self._taken[name] = sequence_id

    def expire(self, attached: Container[str], now: float, idle_s: float) -> bool:
        """Forget producers that have been gone for long; say whether there were any.

        To be called every so often, for the time runs from the call that found a producer gone.
        """
        idle: dict[str, tuple[int, float]] = {}
        expired = []
        for name, last in self._stored.items():
            if name in attached or self._taken[name] != last:
                continue
            was, since = self._idle.get(name, (last, now))
            idle[name] = (last, since) if was == last else (last, now)
            if now - idle[name][1] >= idle_s:
                expired.append(name)
        self._idle = idle
        self._forget(expired)
        return bool(expired)

    def snapshot(self, attached: Container[str], producers_max: int) -> dict[str, str]:
        """A snapshot, of so many producers at most; those that are gone are forgotten first.

        Those known the longest go first.
        """
        surplus = len(self._stored) - producers_max
        if surplus > 0:
            gone = (
                name
                for name, last in self._stored.items()
                if name not in attached and self._taken[name] == last
            )
            self._forget(list(islice(gone, surplus)))
        return {name: str(last) for name, last in islice(self._stored.items(), producers_max)}

    def restore(self, snapshot: Mapping[str, str]) -> None:
        """Take up what was stored as of a snapshot."""
        for name, last in snapshot.items():
            self.found(name, int(last))

    def _forget(self, names: list[str]) -> None:
        for name in names:
            del self._stored[name], self._taken[name]
            self._idle.pop(name, None)


def _rising(run: SendRun) -> bool:
    """Whether each send's first id is above all those of the send before it."""
    if len(run.sequences) == 1:
        return True
    tops = list(map(max, run.sequences, run.highest)) if any(run.highest) else run.sequences
    return all(map(lt, tops, islice(run.sequences, 1, None)))


def _steps(run: SendRun) -> list[tuple[int, int, bool]]:
    """For each send: its first sequence id, its highest, and whether it ends a message."""
    unusual = run.traits.unusual
    steps = []
    for index, (sequence_id, top) in enumerate(zip(run.sequences, run.highest, strict=True)):
        seen, first = unusual.get(index), signed(sequence_id)
        whole = seen is None or seen.chunk is None or seen.chunk.last
        steps.append((first, max(first, signed(top)), whole))
    return steps
