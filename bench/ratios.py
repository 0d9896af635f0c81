"""The ratios against Apache Pulsar that were set as targets, and which a run reached. Pure."""

from collections.abc import Mapping

from .targets import Target

# How many times better ours is to be: more a second, or a latency that is so much shorter.
RATIOS_MIN = {
    "publish 100 B": 8.0,
    "publish 1 KiB": 6.0,
    "100 topics x 20 in flight, 1 KiB": 4.0,
    "1000 topics x 1 in flight, 1 KiB": 2.0,
    "publish 64 KiB": 1.2,
    "batches 1000 x 100 B": 3.0,
    "end to end 1 KiB": 10.0,
    "fan-out 10, 1 KiB": 6.0,
    "1,000/s, 1 KiB: publish p99": 2.0,
    "10,000/s, 1 KiB: end-to-end p99": 2.0,
}
STARTUP_RATIO_MIN = 10.0
MEMORY_RATIO_MIN = 20.0


def targets(
    found: Mapping[str, Mapping[str, float]],
    names: tuple[str, str],
    *,
    startup_ratio: float,
    memory_ratios: tuple[float, float],
) -> list[Target]:
    """``found`` is by figure and broker; ``names`` are ours, syncing, and theirs, as it ships."""
    wanted = []
    for figure, ratio_min in RATIOS_MIN.items():
        ours, theirs = (found.get(figure, {}).get(name, 0.0) for name in names)
        if not ours or not theirs:
            wanted.append(Target(figure, f">= {ratio_min:g}", "", None))
            continue
        shorter_is_better = " p99" in figure
        ratio = theirs / ours if shorter_is_better else ours / theirs
        wanted.append(_target(figure, ratio, ratio_min))
    idle, loaded = memory_ratios
    return [
        *wanted,
        _target("memory, idle: theirs over ours", idle, MEMORY_RATIO_MIN),
        _target("memory after the load: theirs over ours", loaded, MEMORY_RATIO_MIN),
        _target("start-up: theirs over ours", startup_ratio, STARTUP_RATIO_MIN),
    ]


def _target(name: str, ratio: float, ratio_min: float) -> Target:
    return Target(name, f">= {ratio_min:g}", f"{ratio:.2f}", ratio >= ratio_min)
