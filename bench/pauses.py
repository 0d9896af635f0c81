"""The longest pauses of a broker under a steady load, and what they were.

    python -m bench.pauses [--minutes 60] [--rate 10000] [--size 1024]

One producer sends at a steady rate, however long answers take, and one consumer acknowledges what
it gets; sizes, keys and properties vary. It says how late receipts and deliveries were at most,
beside how late the generator itself was, what the broker counted meanwhile (its event loop, garbage
collections and syncs), and the longest of small synced writes to the same disk, before and after.
"""

import gc
import tempfile
import urllib.request
from collections.abc import Iterable
from pathlib import Path

import click
from hdrh.histogram import HdrHistogram
from prometheus_client.parser import text_string_to_metric_families
from rich.progress import track

from magnetar.model.subscriptions import SubscriptionType

from .acknowledging import Acknowledger
from .broker import Broker, Magnetar
from .cases import KIB, Case
from .limits import longest_sync_s
from .open_loop import DIGITS, HIGHEST_US, Arrivals, OpenLoop
from .table import table

WARM_UP_S = 5
STEPS = 100  # Of a second.
DISK_S = 20.0
SHARES = (50, 99, 99.9, 99.99)
SEEN = {
    "magnetar_loop_lag_seconds": "its event loop is late",
    "magnetar_gc_pause_seconds": "its garbage collections",
    "magnetar_fsync_seconds": "its syncs",
}


class Steady(OpenLoop):
    """A load of which nothing is kept but how late it was."""

    def __init__(self, broker: Broker, case: Case) -> None:
        super().__init__(broker, case)
        self._subscriber = Acknowledger(
            broker.address, self.topics[0], "load", SubscriptionType.EXCLUSIVE, "list"
        )
        self.late = {
            what: HdrHistogram(1, HIGHEST_US, DIGITS)
            for what in ("generator", "receipts", "deliveries")
        }
        self._counted = dict.fromkeys(self.late, 0)

    def second(self, *, noted: bool) -> None:
        """Send for a second, and note what came, a little at a time: it holds up the sends."""
        for _ in range(STEPS):
            self._go_on(1 / STEPS)
            arrivals = (self._sends, self._receipts, self._deliveries)
            for what, its in zip(self.late, arrivals, strict=True):
                self._note(what, its, noted=noted)
                del its[:-1]

    def _note(self, what: str, arrivals: Arrivals, *, noted: bool) -> None:
        """All that came together was as late as the first of it."""
        counted, rate = self._counted[what], self._case.rate
        for at, by_then in arrivals:
            if by_then > counted and noted:
                late_us = int((at - self._started - counted / rate) * 1e6)
                self.late[what].record_value(min(max(late_us, 1), HIGHEST_US), by_then - counted)
            counted = max(counted, by_then)
        self._counted[what] = counted


def counts(web_url: str) -> dict[str, list[tuple[float, float]]]:
    """How many of each histogram took no longer than so many seconds."""
    with urllib.request.urlopen(f"{web_url}/metrics/", timeout=30) as answer:
        text = answer.read().decode()
    found: dict[str, list[tuple[float, float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.removesuffix("_bucket") in SEEN and "le" in sample.labels:
                edges = found.setdefault(sample.name.removesuffix("_bucket"), [])
                edges.append((float(sample.labels["le"]), sample.value))
    return found


def pauses(
    before: Iterable[tuple[float, float]], after: Iterable[tuple[float, float]]
) -> list[tuple[float, int]]:
    """How many came since, by the edge that they did not exceed."""
    found, below = [], 0.0
    for (edge_s, then), (_, now) in zip(before, after, strict=True):
        if now - then > below:
            found.append((edge_s, int(now - then - below)))
        below = now - then
    return found


@click.command()
@click.option("--minutes", default=60.0, show_default=True)
@click.option("--rate", default=10_000, show_default=True, help="Messages in a second.")
@click.option("--size", default=KIB, show_default=True, help="Of a message, 30 % more or less.")
@click.option("--durability", default="fsync", show_default=True)
def main(*, minutes: float, rate: int, size: int, durability: str) -> None:
    """Measure, and say what was longest."""
    case = Case("steady", size=size, keys=1000, properties=2, rate=rate)
    with tempfile.TemporaryDirectory() as data:
        folder = Path(data)
        disk = [longest_sync_s(folder, DISK_S)]
        with Magnetar(folder, durability) as broker:
            load = Steady(broker, case)
            load.begin()
            gc.disable()  # The generator's own collections would be told as pauses.
            for _ in range(WARM_UP_S):
                load.second(noted=False)
            before = counts(broker.web_url)
            load.second(noted=False)  # In which it makes up for that.
            for _ in track(range(int(minutes * 60)), "sending"):
                load.second(noted=True)
            after = counts(broker.web_url)
            memory_mb = broker.memory_mb()
            gc.enable()
            load.close()
        disk.append(longest_sync_s(folder, DISK_S))
    click.echo(
        f"{minutes:g} minutes of {rate} messages/s of {size} B, durability {durability}; the "
        f"broker's memory at the end {memory_mb:.0f} MB\n"
        f"4 KiB + fdatasync, longest in {DISK_S:g} s: {disk[0] * 1e3:.1f} ms before, "
        f"{disk[1] * 1e3:.1f} ms after"
    )
    rows = [
        [
            f"{what}, ms late",
            *(f"{its.get_value_at_percentile(share) / 1e3:.2f}" for share in SHARES),
            f"{its.get_max_value() / 1e3:.1f}",
        ]
        for what, its in load.late.items()
    ]
    click.echo(table(["", *(f"p{share:g}" for share in SHARES), "longest"], rows))
    for name, what in SEEN.items():
        found = pauses(before.get(name, ()), after.get(name, ()))
        longest = ", ".join(f"{count} up to {edge * 1e3:g} ms" for edge, count in found[-6:])
        click.echo(f"{what}: {longest or 'none'}")


if __name__ == "__main__":
    main()
