"""``make bench``: the standard cases on a broker of this checkout, fsync and none, as a report.

    python -m bench.run [--seconds 2] [--case TEXT]... [--durability fsync] [--url pulsar://...]

A few minutes. Each case runs once for each durability, on a topic of its own; beside it stands what
the machine can do at most. Compare figures of one run only.
"""

import resource
import subprocess
import sys
import tempfile
from contextlib import ExitStack, redirect_stdout
from io import StringIO
from pathlib import Path

import click

from magnetar.testing.processes import BrokerProcess

from . import cases, limits, machine, memory, recovery, report, startup, targets
from .broker import Broker, Magnetar
from .cases import Case
from .closed_loop import Throughput
from .measure import measure
from .null_broker import NullBroker
from .peer import BrokerRefused
from .targets import Target

RESULTS = Path(__file__).parent / "results"
ALONE_S = 0.5
OPEN_S = 8.0
SYNC_S = 0.5
RECOVERED_MIB = 64
IDLE = 2000  # Connections, and topics, that are looked at for what one takes.


def alone(case: Case) -> Throughput | None:
    """What the generator reaches when nothing is stored; None for cases with more than sends."""
    if case.consumers or case.rate or case.official:
        return None
    with NullBroker(case) as null:
        result = measure(null, case.lasting(ALONE_S))
    assert isinstance(result, Throughput)
    return result


@click.command()
@click.option("--seconds", default=2.0, show_default=True, help="Each case is measured so long.")
@click.option("--case", "names", multiple=True, help="Only cases with this in their names.")
@click.option("--custom", "customs", multiple=True, help="As size=1024,in_flight=5000.")
@click.option("--durability", "kinds", multiple=True, default=["fsync", "none"], show_default=True)
@click.option("--url", help="A running broker of any make, instead of one that is started.")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where data goes. [a temporary]")
@click.option("--save", help="Keep the report in bench/results under this name.")
def main(
    *,
    seconds: float,
    names: tuple[str, ...],
    customs: tuple[str, ...],
    kinds: tuple[str, ...],
    url: str | None,
    data_dir: Path | None,
    save: str | None,
) -> None:
    """Measure, print, and keep the report where --save says. Fails when a case did."""
    chosen = [cases.custom(text) for text in customs]
    if names or not customs:
        chosen += cases.named(list(names))
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=data_dir)))
        lines = machine.describe(folder)
        raw = limits.measure(folder)
        lines += [f"limit        {line}" for line in raw.lines()]
        brokers: dict[str, Broker] = {}
        if url:
            brokers["its own"] = Broker(url, url)
        else:
            brokers = {kind: stack.enter_context(Magnetar(folder / kind, kind)) for kind in kinds}
        idle = _memory(brokers)
        measured = _measure_all(lasting(chosen, seconds), brokers, folder)
        loaded = _memory(brokers)
    reached: list[Target] = []
    if not url:
        started = startup.measure()
        lines += [f"memory       idle {idle}; after the load {loaded}"]
        lines += [f"start-up     {line}" for line in started.lines()]
        whole = not names and not customs
        more: list[Target] = []
        if whole:
            said, more = footprint(data_dir)
            lines += [f"memory       {line}" for line in said]
            said, recovered = recovering()
            lines += [f"recovery     {line}" for line in said]
            more.append(recovered)
        reached = targets.targets(targets.Measured(measured, raw, started, more))
        reached = [target for target in reached if whole or target.reached is not None]
    text = "\n\n".join(["\n".join(lines), *report.tables(measured, raw)])
    if reached:
        text += "\n\n" + targets.targets_table(reached)
    click.echo(text)
    if save:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{save}.txt").write_text(text + "\n", encoding="utf-8")
    if len(measured) < len(chosen) * len(brokers):
        raise click.ClickException("a case failed: see above")


def lasting(chosen: list[Case], seconds: float) -> list[Case]:
    """So long each; those with a rate longer, so that a percentile is made of enough sends."""
    return [case.lasting(max(seconds, OPEN_S) if case.rate else seconds) for case in chosen]


def _measure_all(chosen: list[Case], brokers: dict[str, Broker], folder: Path) -> list[report.Row]:
    measured = []
    for case in chosen:
        best = alone(case)
        for kind, broker in brokers.items():
            click.echo(f"{case.name}, {kind}", err=True)
            try:
                sync = limits.synced_writes(folder, SYNC_S) if case.rate else None
                measured.append(report.Row(case, kind, measure(broker, case), best, sync))
            except (BrokerRefused, OSError) as error:
                click.echo(f"{case.name}, {kind}: FAILED: {error}")
    return measured


def footprint(data_dir: Path | None) -> tuple[list[str], list[Target]]:
    """What an idle connection and an idle topic take: in words, and as targets. A minute."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    settings = {"keepAliveIntervalSeconds": memory.KEEP_ALIVE_S}
    with (
        tempfile.TemporaryDirectory(dir=data_dir) as folder,
        BrokerProcess(Path(folder) / "data", settings=settings) as broker,
        redirect_stdout(StringIO()) as said,
    ):
        new = memory.settled(broker.pid)
        each = {
            "connection": (memory.connections(broker, IDLE, new), memory.CONNECTION_BYTES_MAX),
            "topic": (memory.topics(broker, IDLE, new), memory.TOPIC_BYTES_MAX),
        }
    lines = said.getvalue().splitlines()
    found = [
        Target(
            f"memory of an idle {name}",
            f"<= {most:,} B",
            f"{size:,.0f} B",
            size <= most,
            "; ".join(" ".join(line.split()) for line in lines if remark in line),
        )
        for (name, (size, most)), remark in zip(
            each.items(), ("event loop alone", "after a restart"), strict=True
        )
    ]
    return lines, found


def recovering() -> tuple[list[str], Target]:
    """What ``bench/recovery.py`` prints, and its target. A minute."""
    command = [sys.executable, "-m", "bench.recovery", str(RECOVERED_MIB)]
    done = subprocess.run(
        command, cwd=RESULTS.parents[1], capture_output=True, text=True, timeout=600, check=False
    )
    size, count = recovery.BOUND_HOLDS_FOR
    name, wanted = f"{size} B, runs of {count}", recovery.BOUND_GB_PER_S
    lines = [line for line in done.stdout.splitlines() if "GB/s" in line]
    target = Target(f"recovery, {name}", f">= {wanted:g} GB/s", "", None)
    for line in lines:
        if line.startswith(name):
            speed, raw = (float(part) for part in line.replace("GB/s", " ").split()[5:7])
            found, limit = f"{speed:.1f} GB/s", f"reading alone: {raw:.1f} GB/s"
            target = Target(target.name, target.wanted, found, speed >= wanted, limit)
    return lines or done.stderr.splitlines()[-1:], target


def _memory(brokers: dict[str, Broker]) -> str:
    return ", ".join(f"{kind} {broker.memory_mb():.0f} MB" for kind, broker in brokers.items())


if __name__ == "__main__":
    main()
