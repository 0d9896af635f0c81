"""What became of the messages of each topic, as rows of a table. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from bench.soak.flows import SUBSCRIPTION, Flow
from bench.soak.tally import Tally

HEADS = (
    "topics",
    "in use",
    "answered",
    "delivered",
    "acknowledged",
    "again",
    "let go",
    "lost",
    "out of order",
    "backlog",
)


@dataclass(frozen=True, slots=True)
class Row:
    """Of one topic, or of topics alike. ``excused``: expired, evicted or dropped, as asked for."""

    name: str
    feature: str
    answered: int
    delivered: int  # Each message once.
    acknowledged: int
    repeated: int
    excused: int
    lost: int
    disordered: int
    backlog: int
    held: int = 0  # Answered and delivered, and never acknowledged.

    @property
    def fine(self) -> bool:
        return not (self.lost or self.disordered or self.backlog or self.held)

    @property
    def cells(self) -> list[str]:
        numbers = (self.answered, self.delivered, self.acknowledged, self.repeated, self.excused)
        more = (self.lost, self.disordered, self.backlog)
        return [self.name, self.feature, *(f"{number:,}" for number in (*numbers, *more))]


def row_of(
    flow: Flow,
    feature: str,
    tally: Tally,
    backlog: int,
    *,
    subscription: str = SUBSCRIPTION,
    name: str = "",
) -> Row:
    """Of one subscription to all topics of a flow."""
    locals_ = tuple(f"{topic.rpartition('/')[2]}." for topic in flow.all_topics)
    readings = [
        reading
        for (stream, read_by), reading in tally.readings.items()
        if stream.startswith(locals_) and read_by == subscription
    ]
    lossy = flow.lossy
    dropped = sum(len(reading.unseen()) for reading in readings) if lossy else 0
    return Row(
        name or flow.name,
        feature,
        answered=sum(reading.answered for reading in readings),
        delivered=sum(reading.distinct for reading in readings),
        acknowledged=sum(reading.acknowledged for reading in readings),
        repeated=sum(reading.repeated for reading in readings),
        excused=sum(len(reading.excused) for reading in readings) + dropped,
        lost=sum(len(reading.missing()) for reading in readings),
        disordered=sum(reading.disordered for reading in readings),
        backlog=backlog,
        held=sum(len(reading.held()) for reading in readings),
    )


def totals(rows: Sequence[Row]) -> Row:
    return Row(
        "all",
        "",
        answered=sum(row.answered for row in rows),
        delivered=sum(row.delivered for row in rows),
        acknowledged=sum(row.acknowledged for row in rows),
        repeated=sum(row.repeated for row in rows),
        excused=sum(row.excused for row in rows),
        lost=sum(row.lost for row in rows),
        disordered=sum(row.disordered for row in rows),
        backlog=sum(row.backlog for row in rows),
    )
