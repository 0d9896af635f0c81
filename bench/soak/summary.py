"""A soak in words: a table of what must hold, and the figures behind it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bench.table import table

from .verdict import WARM_UP_S, Check, floor, lives, slope_per_minute

if TYPE_CHECKING:
    from .run import Soak


def show(console: Console, found: Sequence[Check]) -> None:
    shown = Table(title="What must hold")
    for head in ("", "", ""):
        shown.add_column(head)
    for check in found:
        shown.add_row("[green]yes" if check.fine else "[bold red]NO", check.name, check.shown)
    console.print(shown)


def lines(soak: "Soak", found: Sequence[Check]) -> list[str]:
    """The report, as it is kept."""
    tally = soak.tally
    answered = tally.total(lambda stream: stream.answered)
    kills = sum(signal == "SIGKILL" for _, signal in soak.ends)
    failures = sorted(tally.expected_failures.items(), key=lambda pair: -pair[1])
    logged = soak.log_events.most_common()
    return [
        f"run          {soak.minutes:g} minutes, --seed {soak.seed}",
        (
            f"load         {answered:,} messages answered, {tally.delivered:,} delivered, "
            f"{tally.repeated:,} of these more than once; {len(tally.streams):,} producers"
        ),
        "beside it    " + "; ".join(f"{what}: {n:,}" for what, n in sorted(tally.done.items())),
        (
            f"ends         {kills} SIGKILL, {len(soak.ends) - kills} SIGTERM on the way; "
            f"ready again after {max(soak.starts_s, default=0):.2f} s at most"
        ),
        "refused      " + ("; ".join(f"{what}: {count}" for what, count in failures) or "nothing"),
        "logged       " + ("; ".join(f"{event}: {n}" for event, n in logged) or "nothing"),
        "",
        table(
            ["must hold", "", ""],
            [[check.name, "yes" if check.fine else "NO", check.shown] for check in found],
        ),
        "",
        _lives_table(soak),
        *([""] if tally.complaints.samples else []),
        *tally.complaints.samples,
    ]


def _lives_table(soak: "Soak") -> str:
    rows = []
    ends = [*soak.ends, (0.0, "SIGTERM")]
    for life, samples in lives(soak.under_load).items():
        warm = [sample for sample in samples if sample.age_s >= WARM_UP_S]
        slope = slope_per_minute(floor(warm, lambda sample: sample.rss_mb))
        last = samples[-1]
        rows.append(
            [
                str(life + 1),
                ends[life][1] if life < len(ends) else "",
                f"{last.age_s:.0f}",
                f"{max(sample.rss_mb for sample in samples):.0f}",
                f"{last.rss_mb:.0f}",
                f"{slope:+.2f}" if len(warm) > 1 else "",
                f"{min(sample.fds for sample in samples)}-{max(each.fds for each in samples)}",
                str(max(sample.threads for sample in samples)),
                f"{max(sample.disk_mb for sample in samples):.0f}",
                f"{max((each.backlog or 0 for each in samples), default=0):,}",
                f"{(last.cpu_s - samples[0].cpu_s) / max(last.at - samples[0].at, 1):.0%}",
            ]
        )
    heads = ["life", "ended by", "seconds", "most MB", "last MB", f"MB/min after {WARM_UP_S:g} s"]
    heads += ["fds", "threads", "disk MB", "most backlog", "CPU"]
    return table(heads, rows)
