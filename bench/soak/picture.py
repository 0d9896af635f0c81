"""A run as a picture: memory, file descriptors, disk and backlog over time, kills marked."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from .watch import Sample

INK, SOFT, KILL, STOP = "#1f2933", "#829ab1", "#ba2525", "#f0b429"
LINES = ("#2680c2", "#3f9142", "#8719e0", "#de911d")


def draw(
    samples: Sequence[Sample], ends: Sequence[tuple[float, str]], title: str, path: Path
) -> None:
    """``ends``: when a life ended, and by which signal."""
    mpl.rcParams["svg.hashsalt"] = "soak"  # The same run gives the same bytes.
    mpl.rcParams["svg.fonttype"] = "none"
    figure = Figure(figsize=(11.2, 7.2), layout="constrained")
    parts = figure.subplots(4, 1, sharex=True)
    known = [sample for sample in samples if sample.backlog is not None]
    panels: tuple[tuple[str, list[tuple[int, float, float]]], ...] = (
        ("memory, MB", [(each.life, each.at, each.rss_mb) for each in samples]),
        ("file descriptors", [(each.life, each.at, each.fds) for each in samples]),
        ("data folder, MB", [(each.life, each.at, each.disk_mb) for each in samples]),
        ("backlog, entries", [(each.life, each.at, each.backlog or 0) for each in known]),
    )
    for part, colour, (name, points) in zip(parts, LINES, panels, strict=True):
        for life in sorted({life for life, _, _ in points}):
            ats = [at / 60 for each, at, _ in points if each == life]
            values = [value for each, _, value in points if each == life]
            part.plot(ats, values, color=colour, linewidth=1.3)
        for at, signal in ends:
            part.axvline(at / 60, color=KILL if signal == "SIGKILL" else STOP, linewidth=0.9)
        part.set_ylim(bottom=0)
        part.set_title(name, loc="left", fontsize=10, color=INK)
        part.spines[["top", "right"]].set_visible(False)
        part.tick_params(colors=SOFT, labelsize=8)
    parts[-1].set_xlabel("minutes", color=INK, fontsize=9)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, color=INK)
    figure.text(0.99, 0.985, "SIGKILL", color=KILL, ha="right", va="top", fontsize=9)
    figure.text(0.93, 0.985, "SIGTERM", color=STOP, ha="right", va="top", fontsize=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})
