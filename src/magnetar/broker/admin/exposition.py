"""Metrics of many things as lines of Prometheus's text format and OpenMetrics. Pure.

Both put the samples of one name together, so each thing's values are found first, as a row, and
written by columns. A library would make an object of every sample, which for 10,000 topics takes
ten times as long.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Final, NamedTuple, TypeAlias

from magnetar.late_dataclass import dataclass

END: Final = b"# EOF\n"
"""Ends what is told as OpenMetrics."""
ROWS_TOGETHER: Final = 100
"""So many rows are made into lines, or summed, at once; what is kept of them is kept together."""
LINES_KEPT_MAX: Final = 16 * 1024 * 1024
"""Bytes of lines that are kept from one scrape to the next."""

Row: TypeAlias = tuple[str, Sequence[float]]
"""The labels of a thing, and its values."""


class Column(NamedTuple):
    """One metric, a gauge: its name, and what it says."""

    name: str
    about: str


@dataclass(slots=True)
class MetricTable:
    """Things that have the same metrics: the labels of each, and its values by column."""

    columns: Sequence[Column]
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Row) -> None:
        assert len(row[1]) == len(self.columns), "a value for each column"
        self.rows.append(row)


def labels_of(before: str = "", **labels: str) -> str:
    """Labels as they stand behind a name; ``before`` are labels that more are added to."""
    shown = ",".join([f'{name}="{_escaped(value)}"' for name, value in labels.items()])
    return f"{before[:-1]},{shown}}}" if before else f"{{{shown}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


@dataclass(slots=True)
class Lines:
    """Some rows of a table, and the lines of those columns that were made."""

    rows: Sequence[Row]
    by_column: dict[int, bytes] = field(default_factory=dict)

    def of(self, name: str, index: int) -> bytes:
        """The lines of a column."""
        made = [f"{name}{labels} {values[index]}\n" for labels, values in self.rows]
        return "".join(made).encode()


KeptLines: TypeAlias = dict[tuple[int, int], Lines]
"""By the number of a table, and of the first row."""


def lines(tables: Iterable[MetricTable], kept: KeptLines) -> Iterator[bytes]:
    """All samples in pieces, those of a name one behind the other, also from several tables.

    ``kept`` are lines of the last time, which are told again where their rows are the same.
    """
    before = kept.copy()
    kept.clear()
    places: dict[str, list[tuple[list[Lines], int]]] = {}
    heads: dict[str, Column] = {}
    for number, table in enumerate(tables):
        parts: list[Lines] = []
        for start in range(0, len(table.rows), ROWS_TOGETHER):
            rows, known = table.rows[start : start + ROWS_TOGETHER], before.get((number, start))
            part = Lines(rows) if known is None or known.rows != rows else known
            kept[number, start] = part
            parts.append(part)
        for index, column in enumerate(table.columns):
            heads.setdefault(column.name, column)
            places.setdefault(column.name, []).append((parts, index))
    size = 0
    for name, where in places.items():
        if not any(parts for parts, _ in where):
            continue
        yield f"# HELP {name} {heads[name].about}\n# TYPE {name} gauge\n".encode()
        for parts, index in where:
            for part in parts:
                text = part.by_column.get(index) or part.of(name, index)
                size += len(text)
                if size <= LINES_KEPT_MAX:
                    part.by_column[index] = text
                else:
                    part.by_column.pop(index, None)
                yield text
