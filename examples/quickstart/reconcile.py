"""Compares what went in with what came out, flight by flight and figure by figure. Pure."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from quickstart.figures import CarrierDay, Figures
from quickstart.flights import Flight

EXAMPLES_MAX = 5
"""So many differences of each kind are spelled out."""


class Window(NamedTuple):
    """What the pipeline says about a carrier's day, and which flights it says that about."""

    figures: Figures
    flight_ids: Sequence[int]


class Counts(NamedTuple):
    """What was counted on the way: receipts from the broker, rows that Spark's queries read."""

    published: int
    read_by_spark: int
    read_by_spark_for_cancelled: int


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
        counts = (*self.counts, self.accounted_for)
        wrong = self.lost, self.duplicated, self.misplaced, self.unknown, self.windows_differing
        return all(count == self.flights for count in counts) and not any(wrong)

    def to_json(self) -> dict[str, Any]:
        """One flat object, with the names that the lines on the screen have."""
        own = {"adds_up": self.adds_up, "accounted_for": self.accounted_for, **asdict(self)}
        del own["counts"]
        return self.counts._asdict() | own


def reconcile(
    flights: Collection[Flight],
    expected: Mapping[CarrierDay, Figures],
    counts: Counts,
    windows: Mapping[CarrierDay, Window],
    cancelled_ids: Iterable[int],
) -> Reconciliation:
    """Compare. ``expected`` are the figures of the flights, computed without the pipeline."""
    operated = {one.flight_id for one in flights if not one.cancelled}
    cancelled = {one.flight_id for one in flights if one.cancelled}
    in_windows = Counter(number for one in windows.values() for number in one.flight_ids)
    in_cancelled = Counter(cancelled_ids)
    seen = in_windows + in_cancelled
    lost = (operated | cancelled) - seen.keys()
    unknown = seen.keys() - operated - cancelled
    repeated = {number: times - 1 for number, times in seen.items() if times > 1}
    misplaced = (in_windows.keys() & cancelled) | (in_cancelled.keys() & operated)
    differing = _differences(expected, windows)
    return Reconciliation(
        flights=len(operated) + len(cancelled),
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


def _differences(
    expected: Mapping[CarrierDay, Figures], windows: Mapping[CarrierDay, Window]
) -> list[str]:
    """A sentence for each window whose figures are not the expected ones."""
    found = []
    for where in sorted(expected.keys() | windows.keys()):
        match expected.get(where), windows.get(where):
            case _, None:
                what = "no result"
            case None, _:
                what = "a result for a day without flights"
            case Figures() as wanted, Window(figures, ids):
                if not all(map(_same, wanted, figures)):
                    what = f"{figures} instead of {wanted}"
                elif len(ids) != wanted.flights:
                    what = f"{len(ids)} flights behind a count of {wanted.flights}"
                else:
                    continue
        found.append(f"{where.carrier} on {where.day}: {what}")
    return found


def _same(wanted: float | None, found: float | None) -> bool:
    """Equal; a mean may differ in its last bits, which depend on the order of an addition."""
    if wanted is None or found is None:
        return wanted is found
    return math.isclose(wanted, found, rel_tol=1e-12, abs_tol=1e-12)


def _some(what: str, flight_ids: Iterable[int]) -> list[str]:
    return [f"{what}: {flight_id}" for flight_id in sorted(flight_ids)[:EXAMPLES_MAX]]
