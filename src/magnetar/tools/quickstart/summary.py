"""The outcome in words and in JSON. Pure."""

from typing import Any

from magnetar.tools.quickstart.board import Board, Stage
from magnetar.tools.quickstart.reconcile import Reconciliation


def lines(outcome: Reconciliation, board: Board) -> list[str]:
    """The reconciliation, a fact a line: what went in, what came out, and what is amiss.

    No line but an example has more than 56 characters: so many fit into a panel of 60.
    """
    counts = outcome.counts
    rows: list[tuple[str, int, str]] = [
        ("published", counts.published, _pace(board.published)),
        ("read by Spark", counts.read_for_windows, _pace(board.windows)),
        ("read by Spark for cancelled", counts.read_for_cancelled, _pace(board.cancelled)),
        ("accounted for", outcome.accounted_for, ""),
        (f"  in {outcome.windows:,} windows", outcome.in_windows, ""),
        ("  as cancelled", outcome.in_cancelled, ""),
        ("lost", outcome.lost, ""),
        ("duplicated", outcome.duplicated, ""),
        ("figures that differ", outcome.windows_differing, "from plain Python"),
    ]
    if outcome.misplaced:
        rows.append(("in the wrong result", outcome.misplaced, ""))
    if outcome.unknown:
        rows.append(("never published", outcome.unknown, ""))
    text = [f"{name:<27}{count:>9,}  {note}".rstrip() for name, count, note in rows]
    return [*text, f"{'seconds':<27}{seconds(board):>9.1f}", *outcome.examples]


def to_json(outcome: Reconciliation, board: Board) -> dict[str, Any]:
    """The outcome with the time and rate of each stage."""
    return {
        **outcome.to_json(),
        "seconds": round(seconds(board), 3),
        "stages": {
            stage.title: {
                "seconds": round(stage.took_s(stage.ended_s or 0.0), 3),
                "count": stage.count,
                "per_second": round(stage.rate(stage.ended_s or 0.0)),
            }
            for stage in board.stages
            if stage.ended_s is not None
        },
    }


def seconds(board: Board) -> float:
    """From the first stage's beginning to the last one's end."""
    began = [stage.began_s for stage in board.stages if stage.began_s is not None]
    ended = [stage.ended_s for stage in board.stages if stage.ended_s is not None]
    return max(ended) - min(began) if began and ended else 0.0


def _pace(stage: Stage) -> str:
    end_s = stage.ended_s or 0.0
    return f"{stage.took_s(end_s):.1f} s, {stage.rate(end_s):,.0f}/s" if stage.ended_s else ""
