"""The command ``magnetar doctor``."""

import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

import click

from magnetar.errors import MagnetarError
from magnetar.tools.connection import Connection, admin_options
from magnetar.tools.output import output_format, print_table, show, table_of

from . import broker, machine, service
from .finding import Finding, Verdict, ok, wrong

_HEALTH_TIMEOUT_S = 5.0


@click.command()
@click.option(
    "--conf",
    type=click.Path(path_type=Path),
    help="The broker's configuration. [that of the service, else none]",
)
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path),
    help="Where it stores. [what the service or the configuration says, else ./data]",
)
@output_format
@admin_options
def doctor(connection: Connection, conf: Path | None, data_dir: Path | None, form: str) -> None:
    """Find what keeps a broker from running well on this machine, and say what helps.

    Where neither --conf nor --data-dir is given, it looks at the broker that systemd's unit
    magnetar.service runs, if there is one. Exit code 1: something has to be mended.

    Example: magnetar doctor --conf conf/broker.conf
    """
    found = findings(connection, conf, data_dir)
    if form == "table":
        _show(found)
    else:
        rows = [{**one._asdict(), "verdict": one.verdict.value} for one in found]
        show(rows, form)
    if any(one.verdict is Verdict.WRONG for one in found):
        sys.exit(1)


def findings(
    connection: Connection, conf: Path | None, data_dir: Path | None = None
) -> list[Finding]:
    """All of them, in the order of what stands on what."""
    found = [
        machine.python(),
        machine.loops(),
        machine.event_loop(),
        machine.open_files(),
        machine.clock(),
        machine.java(),
    ]
    unit = service.installed() if conf is None and data_dir is None else None
    if unit is not None:
        conf, data_dir = unit.conf, unit.data_dir
        told = " ".join(str(one) for one in (conf, data_dir) if one is not None)
        found.append(ok("service", f"{unit.unit}: {told}"))
    health = broker.running(connection.api(timeout_s=_HEALTH_TIMEOUT_S))
    try:
        configured, config = broker.configuration(conf, os.environ, data_dir)
    except MagnetarError as error:
        return [*found, wrong("configuration", str(error), "name a file that can be read"), health]
    found += configured
    found += broker.certificates(config)
    # The one that answers has the ports and the folder of these settings when it has this port.
    answers = health.verdict is Verdict.OK and not health.said.startswith("none")
    its_ports = {config.server.web_port, config.tls.web_port}
    runs = answers and urlsplit(connection.admin_url).port in its_ports
    found += broker.ports(config, runs=runs)
    if config.metadata.in_cluster:
        from .cluster import cluster_stores  # noqa: PLC0415 - it has the imports of a broker

        found += cluster_stores(config)
    else:
        found += broker.data_folder(config, runs=runs)
    return [*found, health]


def _show(found: list[Finding]) -> None:
    from rich.text import Text  # noqa: PLC0415 - JSON needs none of it

    colours = {Verdict.OK: "green", Verdict.NOTE: "yellow", Verdict.WRONG: "red"}
    table = table_of("", "what", "how it is")
    for one in found:
        said = Text(one.said)
        if one.remedy:
            said.append(f"\n→ {one.remedy}", "bold")
        table.add_row(Text(one.verdict.value, colours[one.verdict]), one.subject, said)
    print_table(table)
