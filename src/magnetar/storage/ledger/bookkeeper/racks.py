"""Where bookies stand: their racks, and the groups that set them apart. Pure.

Pulsar keeps it as JSON in one record, ``/bookies``: by group, by bookie, its rack. A group sets its
bookies apart for those who ask for it; a bookie of no group is for everybody.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field

from magnetar.errors import InvalidValue
from magnetar.late_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Racks:
    """What is known of bookies."""

    by_bookie: Mapping[str, str] = field(default_factory=dict)  # Those that have one.
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def among(self, bookies: Collection[str]) -> set[str]:
        """The racks of some bookies; all whose rack nobody knows count as one."""
        return {self.by_bookie.get(each, "") for each in bookies}


def decode_racks(data: bytes) -> Racks:
    """What the record says. Raises InvalidValue."""
    try:
        stored = json.loads(data or b"{}")
        racks = {
            bookie: f"/{rack}"
            for bookies in stored.values()
            for bookie, info in bookies.items()
            if (rack := (info.get("rack") or "").strip().strip("/"))
        }
        groups = {group: frozenset(bookies) for group, bookies in stored.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidValue(f"the racks of bookies cannot be read: {error}") from error
    return Racks(racks, groups)


@dataclass(frozen=True, slots=True)
class IsolationGroups:
    """The groups whose bookies are wanted; the secondary ones where those are too few."""

    primary: tuple[str, ...] = ()
    secondary: tuple[str, ...] = ()

    def allowed(self, bookies: Sequence[str], racks: Racks, size: int) -> Sequence[str]:
        """Those of ``bookies`` that an ensemble of ``size`` may have, in their order."""
        if not self.primary:
            return bookies
        wanted = _members(racks, self.primary)
        if len(wanted.intersection(bookies)) < size:
            wanted |= _members(racks, self.secondary)
        apart = _members(racks, racks.groups) - wanted
        return [each for each in bookies if each not in apart]


def _members(racks: Racks, groups: Collection[str]) -> set[str]:
    return set().union(*(racks.groups.get(group, ()) for group in groups))
