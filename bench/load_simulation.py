"""A month of 100 brokers and 20,000 bundles, by the rules that brokers place and move them by.

    python -m bench.load_simulation [--days 30] [--brokers 100] [--bundles 20000] [--save]

Traffic has daily waves of three time zones, bundles of which few have most of it, topics that are
hot for hours, and brokers that go and come back. Each minute is one look of the leader's. Beside it
the same month without shedding, where a free bundle goes to whichever broker is asked for it first.
``--save`` keeps the figures in bench/results/load.txt and the picture in docs/pictures/load.svg.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from math import pi
from pathlib import Path
from typing import Any

import click
import numpy as np

from magnetar.broker.cluster.load.placement import Candidate, PlacementRules, Strategy, place
from magnetar.broker.cluster.load.shedding import Move, Shedding, SheddingRules
from magnetar.model.bundles import Bundle, Bundles
from magnetar.model.names import NamespaceName

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "bench" / "results" / "load.txt"
PICTURE = ROOT / "docs" / "pictures" / "load.svg"
MINUTES_A_DAY = 1440
BROKER_BYTES = 100e6  # What a broker can do, a second.
MEAN_USAGE = 0.4
ENTRY_BYTES = 1000
LONG_TERM_MINUTES = 1000
NOBODY = -1

Numbers = Any  # Of numpy.


class Traffic:
    """The bytes a second of each bundle, minute by minute."""

    def __init__(self, bundles: int, brokers: int, random: np.random.Generator) -> None:
        self._random = random
        base = random.lognormal(0.0, 1.5, bundles)
        self._base = base * (MEAN_USAGE * BROKER_BYTES * brokers / base.sum())
        self._phase = random.integers(0, 3, bundles) * (2 * pi / 3)
        self._hot = np.ones(bundles)
        self._until = np.zeros(bundles)

    def at(self, minute: int) -> Numbers:
        """One bundle in 4,000 becomes ten times as busy each hour, for one hour to six."""
        ended = (self._until > 0) & (self._until <= minute)
        self._hot[ended], self._until[ended] = 1.0, 0.0
        if minute % 60 == 0:
            count = max(1, len(self._hot) // 4000)
            chosen = self._random.choice(len(self._hot), count, replace=False)
            self._hot[chosen] = 10.0
            self._until[chosen] = minute + self._random.integers(60, 360, count)
        wave = 1 + 0.6 * np.sin(2 * pi * minute / MINUTES_A_DAY + self._phase)
        noise = self._random.normal(1.0, 0.1, len(self._hot)).clip(0.5, 1.5)
        return self._base * wave * self._hot * noise


class Outages:
    """Brokers that go: one in twenty each day, for ten minutes to an hour."""

    def __init__(self, brokers: int, days: int, random: np.random.Generator) -> None:
        count = max(1, round(brokers / 20 * days))
        begins = random.integers(MINUTES_A_DAY // 2, max(days * MINUTES_A_DAY, 721), count)
        self._each = [
            (int(begin), int(begin + random.integers(10, 60)), int(random.integers(brokers)))
            for begin in begins
        ]

    def away(self, minute: int) -> set[int]:
        return {who for begin, end, who in self._each if begin <= minute < end}


@dataclass
class Result:
    """What a month was like: for each hour the usage of brokers, and the moves."""

    lowest: list[float] = field(default_factory=list)
    mean: list[float] = field(default_factory=list)
    highest: list[float] = field(default_factory=list)
    deviation: list[float] = field(default_factory=list)
    moves: list[int] = field(default_factory=list)
    placed: list[int] = field(default_factory=list)
    moved: list[tuple[int, Move]] = field(default_factory=list)


class Cluster:
    """Brokers, and which bundle each has."""

    def __init__(
        self, brokers: int, bundles: int, random: np.random.Generator, strategy: Strategy | None
    ) -> None:
        """``strategy``: None for no shedding, and placement by who is asked first."""
        each = Bundles.even(4)
        self.bundles = [
            bundle
            for number in range(-(-bundles // 4))
            for bundle in each.of(NamespaceName("public", f"n{number}"))
        ][:bundles]
        self.names = [f"broker-{number:03d}:8080" for number in range(brokers)]
        self._index = {bundle: number for number, bundle in enumerate(self.bundles)}
        self._number = {name: number for number, name in enumerate(self.names)}
        self._random = random
        self.owner = random.integers(0, brokers, bundles)
        self._rules = None if strategy is None else PlacementRules(strategy)
        self._moving = PlacementRules("LeastResourceUsageWithWeight")
        self._shedding = Shedding(SheddingRules())
        self._long_term = np.zeros(bundles)

    def minute(self, now: int, traffic: Numbers, away: set[int]) -> tuple[int, list[Move]]:
        """One minute: what is free is placed, and what is too much moves.

        Returns how many were placed.
        """
        first = not self._long_term.any()
        self._long_term += (traffic - self._long_term) * (1 if first else 1 / LONG_TERM_MINUTES)
        there = [number for number in range(len(self.names)) if number not in away]
        free = np.flatnonzero(np.isin(self.owner, sorted(away)))
        self.owner[free] = NOBODY
        self._look(traffic)
        if self._rules is None:
            self.owner[free] = self._random.choice(there, len(free))
            return len(free), []
        usage = dict(zip(self.names, self.usage, strict=True))
        expected = {self.names[number]: usage[self.names[number]] for number in there}
        for number in free:
            to = self._place(self.bundles[number], expected, self._rules)
            expected[to] += float(traffic[number]) / BROKER_BYTES
            self._give(int(number), to)
        self._look(traffic)
        usage = {self.names[number]: float(self.usage[number]) for number in there}

        def bundles_of(name: str) -> dict[Bundle, float]:
            its = np.flatnonzero(self.owner == self._number[name])
            return {self.bundles[number]: float(traffic[number]) for number in its}

        to = partial(self._place, rules=self._moving)
        moves = self._shedding.look(now * 60, usage, bundles_of, to)
        for move in moves:
            self._give(self._index[move.bundle], move.to)
        self._look(traffic)
        return len(free), moves

    def _look(self, traffic: Numbers) -> None:
        served = self.owner != NOBODY
        count = len(self.names)
        owner = self.owner[served]
        self.usage = np.bincount(owner, traffic[served], count) / BROKER_BYTES
        self._messages = np.bincount(owner, self._long_term[served], count) / ENTRY_BYTES

    def _place(self, bundle: Bundle, usage: Mapping[str, float], rules: PlacementRules) -> str:
        candidates = [
            Candidate(name, used, float(self._messages[self._number[name]]))
            for name, used in usage.items()
        ]
        found = place(candidates, str(bundle.namespace), (), {}, rules)
        assert found is not None, "a broker is there"
        return found.name

    def _give(self, bundle: int, to: str) -> None:
        before, after = self.owner[bundle], self._number[to]
        self.owner[bundle] = after
        self._messages[after] += self._long_term[bundle] / ENTRY_BYTES
        if before != NOBODY:
            self._messages[before] -= self._long_term[bundle] / ENTRY_BYTES


def simulate(
    *, days: int, brokers: int, bundles: int, strategy: Strategy | None, seed: int = 1
) -> Result:
    """A number of days; the same traffic and outages whatever the strategy."""
    of_traffic, of_outages, of_chance = np.random.default_rng(seed).spawn(3)
    traffic = Traffic(bundles, brokers, of_traffic)
    outages = Outages(brokers, days, of_outages)
    cluster = Cluster(brokers, bundles, of_chance, strategy)
    result, placed, moved = Result(), 0, 0
    for minute in range(days * MINUTES_A_DAY):
        away = outages.away(minute)
        count, moves = cluster.minute(minute, traffic.at(minute), away)
        placed, moved = placed + count, moved + len(moves)
        result.moved += [(minute, move) for move in moves]
        if minute % 60 == 59:
            there = [used for number, used in enumerate(cluster.usage) if number not in away]
            result.lowest.append(min(there))
            result.mean.append(float(np.mean(there)))
            result.highest.append(max(there))
            result.deviation.append(float(np.std(there)))
            result.moves.append(moved)
            result.placed.append(placed)
            placed = moved = 0
    return result


def lines(before: Result, after: Result, title: str) -> list[str]:
    """The figures of a month, without its first day: then what chance had shared out is mended."""
    found = [title]
    for name, each in (("as asked first", before), ("by these rules", after)):
        highest, deviation = each.highest[24:], each.deviation[24:]
        full = sum(used > 1 for used in highest)
        found.append(
            f"{name}: fullest broker {np.mean(highest):.2f} on average, {max(highest):.2f} at most,"
            f" over 1.00 in {full} of {len(highest)} hours; standard deviation "
            f"{np.mean(deviation):.3f}; mean of all {np.mean(each.mean[24:]):.2f}"
        )
    moves = after.moves[24:]
    again = sorted(minutes_between(after))
    found.append(
        f"moves: {sum(after.moves[:24])} on the first day, then {np.mean(moves):.1f} an hour, "
        f"{max(moves)} at most, none in {moves.count(0)} of {len(moves)} hours; "
        + (f"no bundle again within {again[0]} minutes" if again else "no bundle twice")
    )
    return found


def minutes_between(result: Result) -> list[int]:
    """How long each bundle stayed where it had been moved to."""
    last: dict[Bundle, int] = {}
    found = []
    for minute, move in result.moved:
        if move.bundle in last:
            found.append(minute - last[move.bundle])
        last[move.bundle] = minute
    return found


def draw(before: Result, after: Result, title: str, path: Path) -> None:
    """Usage hour by hour, and moves."""
    import matplotlib as mpl  # noqa: PLC0415 - only who draws needs it
    from matplotlib.figure import Figure  # noqa: PLC0415

    mpl.rcParams["svg.hashsalt"] = "load"  # The same run gives the same bytes.
    mpl.rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(11.2, 7.2), layout="constrained")
    upper, middle, lower = figure.subplots(3, 1, sharex=True)
    days = [hour / 24 for hour in range(len(before.mean))]
    panels = (
        (upper, "usage of brokers, as bundles are asked for first", before, "#de911d"),
        (middle, "usage of brokers, placed and moved by load", after, "#2680c2"),
    )
    for part, name, each, colour in panels:
        part.fill_between(days, each.lowest, each.highest, color=colour, alpha=0.3, linewidth=0)
        part.plot(days, each.mean, color=colour, linewidth=1.3)
        part.axhline(1.0, color="#ba2525", linewidth=0.9)
        part.set_ylim(0, max(before.highest) * 1.05)
        part.set_title(f"{name}: least, mean and most", loc="left", fontsize=10, color="#1f2933")
    lower.bar(days, after.moves, width=1 / 24, color="#3f9142")
    lower.set_title("bundles moved in an hour", loc="left", fontsize=10, color="#1f2933")
    lower.set_xlabel("days", color="#1f2933", fontsize=9)
    for part in (upper, middle, lower):
        part.spines[["top", "right"]].set_visible(False)
        part.tick_params(colors="#829ab1", labelsize=8)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color="#1f2933")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})


@click.command()
@click.option("--days", default=30, show_default=True)
@click.option("--brokers", default=100, show_default=True)
@click.option("--bundles", default=20_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option(
    "--strategy",
    type=click.Choice(["LeastLongTermMessageRate", "LeastResourceUsageWithWeight"]),
    default="LeastLongTermMessageRate",
    show_default=True,
)
@click.option("--save", is_flag=True, help="Keep figures and picture in the repository.")
def main(
    *, days: int, brokers: int, bundles: int, seed: int, strategy: Strategy, save: bool
) -> None:
    """Simulate, show, keep."""
    title = f"{days} days of {brokers} brokers and {bundles:,} bundles, seed {seed}, {strategy}"
    sizes = {"days": days, "brokers": brokers, "bundles": bundles, "seed": seed}
    before = simulate(**sizes, strategy=None)
    after = simulate(**sizes, strategy=strategy)
    text = "\n".join(lines(before, after, title))
    click.echo(text)
    if save:
        FIGURES.write_text(text + "\n", encoding="utf-8")
        draw(before, after, title, PICTURE)


if __name__ == "__main__":
    main()
