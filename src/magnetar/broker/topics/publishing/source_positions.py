"""What came from other clusters, by its places there: which sends are duplicates. Pure.

A replicator sends the entries of its topic in their order, so that what is not behind the last
place that was taken from it was sent before.
"""

from collections.abc import Mapping, Sequence

Place = tuple[int, int]
"""Ledger and entry id in the cluster that sends."""

_LEDGER, _ENTRY = "_LID", "_EID"


class SourcePositions:
    """The last places, by the names of replicators' producers.

    ``taken`` are those of sends that wait to be stored, too, as in ``SequenceIds``.
    """

    __slots__ = ("_stored", "_taken")

    def __init__(self) -> None:
        self._taken: dict[str, Place] = {}
        self._stored: dict[str, Place] = {}

    def duplicates(self, name: str, sources: Sequence[Place | None]) -> Mapping[int, bool]:
        """Take a run; return the indexes of the sends in it that were taken before."""
        last, found = self._taken.get(name), {}
        for index, source in enumerate(sources):
            if source is None:
                continue
            if last is not None and source <= last:
                found[index] = True
            else:
                last = source
        if last is not None:
            self._taken[name] = last
        return found

    def stored(self, name: str, sources: Sequence[Place | None]) -> None:
        """A run that was taken is durable."""
        for source in reversed(sources):
            if source is not None:
                self.found(name, source)
                return

    def found(self, name: str, source: Place) -> None:
        """One that is stored, wherever that was learned."""
        for known in (self._stored, self._taken):
            last = known.get(name)
            if last is None or source > last:
                known[name] = source

    def snapshot(self) -> dict[str, str]:
        """All that is stored, as Pulsar keeps it."""
        return {
            name + key: str(number)
            for name, place in self._stored.items()
            for key, number in zip((_LEDGER, _ENTRY), place, strict=True)
        }

    def restore(self, snapshot: Mapping[str, str]) -> dict[str, str]:
        """Take up what was stored as of a snapshot; return what of it is of others."""
        rest = dict(snapshot)
        for key in [key for key in snapshot if key.endswith(_LEDGER)]:
            name = key.removesuffix(_LEDGER)
            if name + _ENTRY in rest and "-->" in name:
                place = int(rest.pop(key)), int(rest.pop(name + _ENTRY))
                self.found(name, place)
        return rest
