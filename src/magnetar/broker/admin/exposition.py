"""Metrics of many things as lines of Prometheus's text format and OpenMetrics. Pure.

Both put the samples of one name together, so each thing's values are found first, as a row, and
written by columns. A library would make an object of every sample, which for 10,000 topics takes
ten times as long.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final, NamedTuple

from magnetar.late_dataclass import dataclass

END: Final = b"# EOF\n"
"""Ends what is told as OpenMetrics."""
ROWS_PER_PIECE: Final = 500
"""So many lines are made at once."""


class Column(NamedTuple):
    """One metric, a gauge: its name, and what it says."""

    name: str
    about: str


@dataclass(slots=True)
class MetricTable:
    """Things that have the same metrics: the labels of each, and its values by column."""

    columns: Sequence[Column]
    rows: list[tuple[str, Sequence[float]]] = field(default_factory=list)

    def add(self, labels: str, values: Sequence[float]) -> None:
        assert len(values) == len(self.columns), "a value for each column"
        self.rows.append((labels, values))


def labels_of(before: str = "", **labels: str) -> str:
    """Labels as they stand behind a name; ``before`` are labels that more are added to."""
    shown = ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items()])
    return f"{before[:-1]},{shown}}}" if before else f"{{{shown}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def lines(tables: Iterable[MetricTable]) -> Iterator[str]:
    """All samples in pieces, those of a name one behind the other, also from several tables."""
    places: dict[str, list[tuple[MetricTable, int]]] = {}
    heads: dict[str, Column] = {}
    for table in tables:
        for index, column in enumerate(table.columns):
            heads.setdefault(column.name, column)
            places.setdefault(column.name, []).append((table, index))
    for name, where in places.items():
        if not any(table.rows for table, _ in where):
            continue
        head = heads[name]
        yield f"# HELP {name} {head.about}\n# TYPE {name} gauge\n"
        for table, index in where:
            rows = table.rows
            for start in range(0, len(rows), ROWS_PER_PIECE):
                part = rows[start : start + ROWS_PER_PIECE]
                yield "".join([f"{name}{labels} {values[index]}\n" for labels, values in part])
