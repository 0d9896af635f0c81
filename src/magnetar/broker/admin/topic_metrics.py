"""The metrics of topics, subscriptions, producers and consumers, by Pulsar's names.

``topic_metrics.txt`` has a line for each, and says how its lines are read.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from magnetar.broker.admin.exposition import Column

PERIOD: Final = "of the last whole statsUpdateFrequencyInSecs"
_BUCKETS: Final = {
    "<ms>": "le_0_5 le_1 le_5 le_10 le_20 le_50 le_100 le_200 le_1000 overflow",
    "<bytes>": "le_128 le_512 le_1_kb le_2_kb le_4_kb le_16_kb le_100_kb le_1_mb le_overflow",
}


def latency_buckets(counts: Sequence[int]) -> Sequence[int]:
    """What is counted by ``LATENCIES_MS`` in each of Pulsar's buckets."""
    first, second, third, *rest = counts
    ms_1, ms_2, ms_5, *alone, ms_500, ms_1000, above = rest
    return [first + second + third, ms_1, ms_2 + ms_5, *alone, ms_500 + ms_1000, above]


class Metrics:
    """The metrics of one kind of thing: the columns, and how their values are found.

    All values of a kind are one expression, compiled once: to call a function for each value, or
    to look up its attributes by name, takes a twentieth more of the time of a scrape.
    """

    def __init__(self, known: str, rows: Sequence[Sequence[str]]) -> None:
        self.columns = [column for name, _, about in rows for column in _columns(name, about)]
        self.index = {column.name: at for at, column in enumerate(self.columns)}
        found = ", ".join(value for _, value, _ in rows)
        names = {"latency_buckets": latency_buckets}
        self.values: Callable[..., Sequence[float]] = eval(  # noqa: S307 - our own file.
            f"lambda {known.replace(' ', ', ')}: ({found},)", names
        )


def _columns(name: str, about: str) -> Iterator[Column]:
    start, _, last = name.rpartition("_")
    for bucket in _BUCKETS.get(last, last).split():
        yield Column(f"{start}_{bucket}", about.replace("~", PERIOD))


def _read() -> Iterator[tuple[str, Metrics]]:
    for section in Path(__file__).with_suffix(".txt").read_text().split("\n[")[1:]:
        head, *lines = section.strip().splitlines()
        kind, _, known = head.partition("]")
        yield kind, Metrics(known.strip(), [re.split("  +", line) for line in lines])


METRICS: Final = dict(_read())
"""Of ``summed`` (a topic's that can be summed), ``topic``, ``subscription`` and other kinds."""
SUMMED: Final = METRICS["summed"]


def together(rows: Iterable[Sequence[float]]) -> Sequence[float]:
    """The sum of each column: what things have together."""
    return list(map(sum, zip(*rows, strict=True)))
