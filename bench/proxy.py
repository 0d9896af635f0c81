"""Throughput through a proxy beside that of the broker itself, and what idle connections cost it.

    python -m bench.proxy [--rounds N] [--seconds S] [--connections N]

Client, proxy and broker share the machine, so that what the proxy takes is taken from the others:
on two cores the ratio is a lower bound. Rounds are interleaved, figures are medians. The CPU of a
figure is that of the broker's process, or of the proxy's. Then, one beside the other, so many
connections that ask the proxy itself, and so many that were passed on to a broker: each of these
is two files of the proxy, which the limit of open files may halve.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click

from magnetar.testing.processes import BrokerProcess

from . import cases, machine
from .broker import Broker
from .compare import Comparison
from .memory import SPARE_FILES, files_allowed, settled
from .peer import Peer

CASES = ("publish 1 KiB", "publish 64 KiB", "end to end 1 KiB")
KEEP_ALIVE_S = 600
READY_S = 30


class ThroughProxy(Broker):
    """A broker that is reached by a proxy, whose CPU and memory are looked at."""

    def __init__(self, port: int, pid: int, broker: Broker) -> None:
        super().__init__("by a proxy", f"pulsar://127.0.0.1:{port}", broker.web_url, pid)
        self._behind = broker.url.removeprefix("pulsar://")

    @property
    def address(self) -> tuple[str, int, str]:  # type: ignore[override]
        return (*super().address, self._behind)


@contextmanager
def proxy_process(folder: Path, service_url: str, **settings: object) -> Iterator[tuple[int, int]]:
    """``magnetar proxy`` as a process; gives its port and its pid."""
    conf, ready = folder / "proxy.conf", folder / "proxy.ready"
    given = {
        "brokerServiceURL": service_url,
        "servicePort": 0,
        "webServicePort": 0,
        "maxConcurrentInboundConnections": 0,
        "brokerProxyReadTimeoutMs": 0,
        **settings,
    }
    conf.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    command = [sys.executable, "-m", "magnetar.tools.cli", "proxy", "--conf", str(conf)]
    process = subprocess.Popen(
        [*command, "--ready-file", str(ready), "--until-eof"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline(), "the proxy did not start"
        yield json.loads(ready.read_text())["port"], process.pid
    finally:
        process.terminate()
        process.communicate(timeout=READY_S)


def throughput(folder: Path, rounds: int, seconds: float) -> None:
    """Print both, and the ratio."""
    chosen = [replace(each, seconds=seconds) for each in cases.ALL if each.name in CASES]
    with BrokerProcess(folder / "data", settings={"durability": "none"}) as broker:
        direct = Broker("direct", broker.service_url, broker.web_url, broker.pid)
        with proxy_process(folder, broker.service_url) as (port, pid):
            by_proxy = ThroughProxy(port, pid, direct)
            comparison = Comparison([direct, by_proxy], folder)
            comparison.run(chosen, rounds)
            click.echo("\n".join(machine.describe(folder)))
            click.echo(comparison.table(by_proxy, direct))
            click.echo(comparison.cost_table())


def memory(folder: Path, count: int) -> None:
    """Print what idle connections of either kind take of the proxy."""
    settings = {"keepAliveIntervalSeconds": KEEP_ALIVE_S}
    with (
        BrokerProcess(folder / "data", settings=settings) as broker,
        proxy_process(folder, broker.service_url, **settings) as (port, pid),
    ):
        before = settled(pid)
        click.echo(f"idle proxy {before / 1e6:.1f} MB")
        most = (files_allowed() - SPARE_FILES) // 2
        behind = broker.service_url.removeprefix("pulsar://")
        for what, address, wanted in (
            ("that ask the proxy", ("127.0.0.1", port), count),
            ("that were passed on", ("127.0.0.1", port, behind), min(count, most)),
        ):
            peers = [Peer(address) for _ in range(wanted)]
            now = settled(pid)
            each = (now - before) / wanted
            click.echo(f"{wanted} connections {what}: {now / 1e6:.1f} MB, {each:.0f} B each")
            for peer in peers:
                peer.close()
            settled(pid)


@click.command()
@click.option("--rounds", default=3, show_default=True, help="Of throughput; 0: only memory.")
@click.option("--seconds", default=3.0, show_default=True, help="Each case is measured so long.")
@click.option("--connections", default=10_000, show_default=True, help="Idle ones; 0: none.")
def main(*, rounds: int, seconds: float, connections: int) -> None:
    """Measure, and print."""
    for wanted, measured in (
        (rounds, lambda folder: throughput(folder, rounds, seconds)),
        (connections, lambda folder: memory(folder, connections)),
    ):
        if wanted:
            with tempfile.TemporaryDirectory() as folder:
                measured(Path(folder))


if __name__ == "__main__":
    main()
