"""One case on one broker, once."""

import os
from statistics import median

from .broker import Broker
from .cases import Case
from .closed_loop import ClosedLoop, Throughput
from .official_clients import OfficialClients
from .open_loop import Latency, OpenLoop

Result = Throughput | Latency


def measure(broker: Broker, case: Case) -> Result:
    """Run it, after everything that others left to be written is on disk."""
    os.sync()
    kind = OfficialClients if case.official else OpenLoop if case.rate else ClosedLoop
    loop = kind(broker, case)
    try:
        return loop.run()
    finally:
        loop.close()


def figures(case: Case, result: Result) -> dict[str, float]:
    """What a comparison compares, by name. Latencies are in ms: less is better."""
    if isinstance(result, Throughput):
        return {case.name: result.figure(case)}
    found = {
        f"{case.name}: publish p50": result.publish.p50,
        f"{case.name}: publish p99": result.publish.p99,
        f"{case.name}: publish p99.9": result.publish.p999,
    }
    if result.end_to_end is not None:
        found[f"{case.name}: end-to-end p50"] = result.end_to_end.p50
        found[f"{case.name}: end-to-end p99"] = result.end_to_end.p99
        found[f"{case.name}: end-to-end p99.9"] = result.end_to_end.p999
    return found


def medians(rounds: list[dict[str, float]]) -> dict[str, float]:
    """The median of each figure over rounds that all have it."""
    return {name: median(each[name] for each in rounds) for name in rounds[0]}
