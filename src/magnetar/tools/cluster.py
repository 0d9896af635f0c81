"""``magnetar cluster``: looks at a cluster before a broker of ours takes it over."""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from magnetar.broker.config import Config
from magnetar.errors import InvalidValue
from magnetar.extras import check_cluster
from magnetar.model.names import TopicName
from magnetar.model.system_topics import is_of_transactions
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.metadata.walk import records_below
from magnetar.tools.output import output_format, show

TRANSACTIONS: Final = "logs of transactions"
_REASONS: Final = {
    TRANSACTIONS: "they are not read: end all transactions before",
}


@click.group()
def cluster() -> None:
    """Look at a cluster of brokers."""


@cluster.command()
@click.option("--conf", required=True, type=click.Path(path_type=Path), help="The broker.conf.")
@output_format
def check(conf: Path, form: str) -> None:
    """Say what of a cluster of Apache Pulsar would not carry over to a broker of ours.

    It reads the cluster's metadata and changes nothing. Exit code 1: there is something.

    Example: magnetar cluster check --conf conf/broker.conf
    """
    config = Config.read(file=conf)
    if not config.metadata.in_cluster:
        raise InvalidValue(f"{conf} has no metadataStoreUrl: it describes no cluster")
    check_cluster()
    rows = asyncio.run(_check(config))
    if not rows and form == "table":
        click.echo("All of it carries over.")
    else:
        show(rows, form)
    if rows:
        sys.exit(1)


async def _check(config: Config) -> list[dict[str, object]]:
    from magnetar.broker.assemble.cluster_stores import open_zookeeper  # noqa: PLC0415 - kazoo

    metadata = await open_zookeeper(config)
    try:
        found = await left_behind(metadata)
    finally:
        await metadata.close()
    return [
        {"what": what, "count": len(names), "such as": names[0], "why": _REASONS[what]}
        for what, names in found.items()
        if names
    ]


async def left_behind(metadata: MetadataStore) -> dict[str, list[str]]:
    """Names of what would not carry over, by what it is."""
    found: dict[str, list[str]] = {what: [] for what in _REASONS}
    ledgers = records_below(metadata, paths.MANAGED_LEDGERS, paths.MANAGED_LEDGER_DEPTH)
    async for path in ledgers:
        name = path.removeprefix(f"{paths.MANAGED_LEDGERS}/")
        tenant, namespace, domain, local = name.split("/")
        topic = TopicName(domain, tenant, namespace, paths.decode(local))
        if is_of_transactions(topic):
            found[TRANSACTIONS].append(str(topic))
    return found
