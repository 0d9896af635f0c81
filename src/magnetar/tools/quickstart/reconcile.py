"""Does it add up? In against out, flight by flight and figure by figure. Pure."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from magnetar.tools.quickstart.figures import CarrierDay, Figures
from magnetar.tools.quickstart.flights import Flight

EXAMPLES_MAX = 5
"""Of each kind of difference, so many are spelled out."""


class Window(NamedTuple):
    """What the pipeline says about a carrier's day, and which flights it says that about."""

    figures: Figures
    flight_ids: Sequence[int]


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted on the way: receipts from the broker, rows that Spark's queries read."""

    published: int
    read_for_windows: int
    read_for_cancelled: int


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """The outcome. A flight is accounted for when it is in one result, and in the right one."""

    flights: int
    counts: Counts
    in_windows: int
    in_cancelled: int
    lost: int
    duplicated: int
    misplaced: int
    unknown: int
    windows: int
    windows_differing: int
    examples: list[str] = field(default_factory=list)

    @property
    def accounted_for(self) -> int:
        return self.in_windows + self.in_cancelled

    @property
    def adds_up(self) -> bool:
        counted = (
            self.counts.published,
            self.counts.read_for_windows,
            self.counts.read_for_cancelled,
        )
        return (
            self.accounted_for == self.flights
            and all(count == self.flights for count in counted)
            and not (self.lost or self.duplicated or self.misplaced or self.unknown)
            and not self.windows_differing
        )

    def to_json(self) -> dict[str, Any]:
        """Flat, under the names that the lines on the screen have."""
        plain = asdict(self)
        counts = plain.pop("counts")
        return {
            "adds_up": self.adds_up,
            "published": counts["published"],
            "read_by_spark": counts["read_for_windows"],
            "read_by_spark_for_cancelled": counts["read_for_cancelled"],
            "accounted_for": self.accounted_for,
            **plain,
        }


def reconcile(
    flights: Iterable[Flight],
    expected: Mapping[CarrierDay, Figures],
    counts: Counts,
    windows: Mapping[CarrierDay, Window],
    cancelled_ids: Iterable[int],
) -> Reconciliation:
    """Compare. ``expected`` are the figures of those flights, computed another way."""
    in_windows = Counter(number for one in windows.values() for number in one.flight_ids)
    in_cancelled = Counter(cancelled_ids)
    operated, cancelled = _by_kind(flights)
    everything = operated | cancelled
    seen = in_windows + in_cancelled
    lost = everything - seen.keys()
    unknown = seen.keys() - everything
    repeated = {number: times - 1 for number, times in seen.items() if times > 1}
    misplaced = (in_windows.keys() & cancelled) | (in_cancelled.keys() & operated)
    differing = differences(expected, windows)
    return Reconciliation(
        flights=len(everything),
        counts=counts,
        in_windows=len(in_windows.keys() & operated),
        in_cancelled=len(in_cancelled.keys() & cancelled),
        lost=len(lost),
        duplicated=sum(repeated.values()),
        misplaced=len(misplaced),
        unknown=len(unknown),
        windows=len(expected),
        windows_differing=len(differing),
        examples=[
            *_some("lost flight", lost),
            *_some("flight counted more than once", repeated),
            *_some("flight in the wrong result", misplaced),
            *_some("flight that was never published", unknown),
            *differing[:EXAMPLES_MAX],
        ],
    )


def differences(
    expected: Mapping[CarrierDay, Figures], windows: Mapping[CarrierDay, Window]
) -> list[str]:
    """A sentence for each window whose figures are not the expected ones."""
    found = []
    for where in sorted(expected.keys() | windows.keys()):
        wanted, window = expected.get(where), windows.get(where)
        name = f"{where.carrier} on {where.day}"
        if window is None:
            found.append(f"{name}: no result")
        elif wanted is None:
            found.append(f"{name}: a result for a day without flights")
        elif not _same(wanted, window.figures):
            found.append(f"{name}: {window.figures} instead of {wanted}")
        elif len(window.flight_ids) != wanted.flights:
            found.append(
                f"{name}: {len(window.flight_ids)} flights behind a count of {wanted.flights}"
            )
    return found


def _by_kind(flights: Iterable[Flight]) -> tuple[set[int], set[int]]:
    operated: set[int] = set()
    cancelled: set[int] = set()
    for one in flights:
        (cancelled if one.cancelled else operated).add(one.flight_id)
    return operated, cancelled


def _same(wanted: Figures, found: Figures) -> bool:
    """Equal; means up to the last bits, in which the order of an addition may show."""
    for one, other in zip(wanted, found, strict=True):
        if one is None or other is None:
            if one is not other:
                return False
        elif not math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12):
            return False
    return True


def _some(what: str, flight_ids: Iterable[int]) -> list[str]:
    return [f"{what}: {flight_id}" for flight_id in sorted(flight_ids)[:EXAMPLES_MAX]]
