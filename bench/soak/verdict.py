"""Whether a soak showed what it must: flat, complete, in order, and nothing left. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from .tally import Tally
from .watch import Sample

WARM_UP_S = 90.0
"""Caches fill, and each topic's ledgers are rolled over and let go of for the first time: what a
life shows before is no leak."""

FLOOR_S = 10.0
"""Memory is judged by the least of every so many seconds: large messages make peaks."""

LEVEL_AGE_S = 60.0

JUDGED_S_MIN = 60.0
RSS_MB_PER_MINUTE_MAX = 2.0
RSS_ACROSS_LIVES_MB_MAX = 25.0
FDS_RISE_MAX = 8
FDS_LEFT_MAX = 4
THREADS_RISE_MAX = 3
DISK_LEFT_MB_MAX = 700.0  # The active segment, its successor and eight spares, 64 MiB each.
LEVEL_S = 15.0


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold."""

    name: str
    fine: bool
    shown: str


@dataclass(frozen=True, slots=True)
class End:
    """How the run ended."""

    backlog: int
    drained_s: float
    idle_fds_before: int
    idle_fds_after: int
    disk_mb: float  # After every topic was deleted.
    exit_codes: Sequence[int]  # Of the lives that ended by SIGTERM.
    tracebacks: int  # In the broker's log.


def slope_per_minute(points: Sequence[tuple[float, float]]) -> float:
    """Of the line through points of seconds and values, by least squares."""
    count = len(points)
    if count < 2:
        return 0.0
    mean_x = sum(x for x, _ in points) / count
    mean_y = sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    if not spread:
        return 0.0
    return 60 * sum((x - mean_x) * (y - mean_y) for x, y in points) / spread


def lives(samples: Sequence[Sample]) -> dict[int, list[Sample]]:
    found: dict[int, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.life, []).append(sample)
    return found


def judged(samples: Sequence[Sample]) -> dict[int, list[Sample]]:
    """The lives that went on for long enough after warming up, without their warm-up."""
    warm = {
        life: [sample for sample in each if sample.age_s >= WARM_UP_S]
        for life, each in lives(samples).items()
    }
    return {
        life: each
        for life, each in warm.items()
        if each and each[-1].age_s - WARM_UP_S >= JUDGED_S_MIN
    }


def checks(samples: Sequence[Sample], tally: Tally, end: End) -> list[Check]:
    return [*_of_messages(tally), *_of_growth(samples), *_of_the_end(end)]


def floor(samples: Sequence[Sample], of: Callable[[Sample], float]) -> list[tuple[float, float]]:
    """When, and the least in each stretch of time."""
    least: dict[int, tuple[float, float]] = {}
    for sample in samples:
        stretch = int(sample.at / FLOOR_S)
        value = (sample.at, of(sample))
        least[stretch] = min(least.get(stretch, value), value, key=lambda pair: pair[1])
    return list(least.values())


def _of_messages(tally: Tally) -> list[Check]:
    missing = tally.missing()
    count = sum(map(len, missing.values()))
    example = next(iter(missing.items()), None)
    answered = tally.total(lambda stream: stream.answered)
    wrong = tally.complaints.counts
    sent = tally.total(lambda stream: stream.sent)
    failed = tally.total(lambda stream: stream.failed)
    return [
        Check(
            "every answered message was delivered",
            count == 0,
            f"{answered:,} answered"
            + (f", {count:,} MISSING, of {example[0]} {example[1][:5]}" if example else ""),
        ),
        Check(
            "in each producer's order where promised",
            not wrong.get("out of order"),
            f"{wrong.get('out of order', 0)} out of order",
        ),
        Check(
            "every send was answered or refused",
            sent == answered + failed,
            f"{sent:,} sent, {failed:,} refused, {sent - answered - failed:,} neither",
        ),
        Check(
            "nothing else was wrong",
            not set(wrong) - {"out of order"},
            ", ".join(f"{kind}: {count}" for kind, count in wrong.items()) or "no complaints",
        ),
    ]


def _of_growth(samples: Sequence[Sample]) -> list[Check]:
    long = judged(samples)
    if not long:
        return [Check("a life long enough to judge", False, "run it for longer: MINUTES=10")]
    found = []
    for name, of, bound in (
        ("memory flat within a life, MB a minute", _rss, RSS_MB_PER_MINUTE_MAX),
        ("threads flat within a life, a minute", _threads, THREADS_RISE_MAX),
    ):
        slopes = [slope_per_minute(floor(each, of)) for each in long.values()]
        weights = [each[-1].age_s - WARM_UP_S for each in long.values()]
        longest = slopes[weights.index(max(weights))]
        shown = f"{longest:+.2f} in the longest life (all: {_all(slopes)}), at most {bound:g}"
        found.append(Check(name, longest <= bound, shown))
    rises = [_level(each[-30:], _fds) - _level(each[:30], _fds) for each in long.values()]
    found.append(
        Check(
            "file descriptors flat within a life",
            max(rises) <= FDS_RISE_MAX,
            f"end against beginning: {_all(rises)}, at most {FDS_RISE_MAX}",
        )
    )
    levels = [_level(_at_age(each), _rss) for each in lives(samples).values() if _at_age(each)]
    half = len(levels) // 2
    across = median(levels[half:]) - median(levels[:half]) if half else 0.0
    found.append(
        Check(
            "memory flat across lives",
            across <= RSS_ACROSS_LIVES_MB_MAX,
            f"after {LEVEL_AGE_S:g} s: {', '.join(f'{level:.0f}' for level in levels)} MB",
        )
    )
    return found


def _of_the_end(end: End) -> list[Check]:
    return [
        Check(
            "backlog zero at the end",
            end.backlog == 0,
            f"{end.backlog} entries, {end.drained_s:.1f} s after the last send",
        ),
        Check(
            "file descriptors given back",
            end.idle_fds_after - end.idle_fds_before <= FDS_LEFT_MAX,
            f"{end.idle_fds_before} when it began, {end.idle_fds_after} with all clients gone",
        ),
        Check(
            "disk space given back",
            end.disk_mb <= DISK_LEFT_MB_MAX,
            f"{end.disk_mb:.0f} MB after deleting all topics, at most {DISK_LEFT_MB_MAX:g}",
        ),
        Check(
            "clean stops",
            not any(end.exit_codes),
            f"{len(end.exit_codes)} by SIGTERM, exit codes {sorted(set(end.exit_codes))}",
        ),
        Check("no traceback in the log", end.tracebacks == 0, f"{end.tracebacks}"),
    ]


def _at_age(samples: Sequence[Sample]) -> list[Sample]:
    return [each for each in samples if LEVEL_AGE_S <= each.age_s < LEVEL_AGE_S + LEVEL_S]


def _level(samples: Sequence[Sample], of: Callable[[Sample], float]) -> float:
    return median(of(sample) for sample in samples)


def _rss(sample: Sample) -> float:
    return sample.rss_mb


def _fds(sample: Sample) -> float:
    return sample.fds


def _threads(sample: Sample) -> float:
    return sample.threads


def _all(values: Sequence[float]) -> str:
    return ", ".join(f"{value:+.2g}" for value in values)
