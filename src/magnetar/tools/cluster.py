"""``magnetar cluster``: looks at a cluster, before a broker of ours takes it over and later."""

import asyncio
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from magnetar.broker.config import Config
from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue
from magnetar.extras import check_cluster
from magnetar.loop_iteration import LoopIteration
from magnetar.model.names import TopicName
from magnetar.model.system_topics import is_of_transactions
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore
from magnetar.storage.metadata.walk import records_below
from magnetar.tools.output import output_format, show

TRANSACTIONS: Final = "logs of transactions"
HOURS: Final = 24.0
"""A ledger is younger than this while whoever made it may still list it, as one of compaction."""
HOURS_MIN: Final = 1.0
_REASONS: Final = {
    TRANSACTIONS: "they are not read: end all transactions before",
}


@click.group()
def cluster() -> None:
    """Look at a cluster of brokers, and tidy it."""


CONF: Final = click.option(
    "--conf", required=True, type=click.Path(path_type=Path), help="The broker.conf."
)


@cluster.command()
@CONF
@output_format
def check(conf: Path, form: str) -> None:
    """Say what of a cluster of Apache Pulsar would not carry over to a broker of ours.

    It reads the cluster's metadata and changes nothing. Exit code 1: there is something.

    Example: magnetar cluster check --conf conf/broker.conf
    """
    config = _read(conf)
    rows = asyncio.run(_check(config))
    if not rows and form == "table":
        click.echo("All of it carries over.")
    else:
        show(rows, form)
    if rows:
        sys.exit(1)


@cluster.command()
@CONF
@click.option("--delete", is_flag=True, help="Delete them.")
@click.option(
    "--older-than-hours",
    type=click.FloatRange(min=HOURS_MIN),
    default=HOURS,
    show_default=True,
    help="Younger ones may be listed yet.",
)
@click.option(
    "--alone", is_flag=True, help="No other cluster of brokers has ledgers at these bookies."
)
@output_format
def janitor(conf: Path, delete: bool, older_than_hours: float, alone: bool, form: str) -> None:  # noqa: FBT001 - click's
    """Find ledgers that no topic, cursor or schema lists; a killed broker leaves some behind.

    Without --delete it changes nothing. It looks at ledgers alone that say that they are of
    Pulsar's. Ledgers of another cluster of brokers at the same bookies would count as left behind:
    where bookkeeperMetadataServiceUri names a place of its own, --delete wants --alone as well.

    Example: magnetar cluster janitor --conf conf/broker.conf
    """
    config = _read(conf)
    if delete and config.bookkeeper.service_uri and not alone:
        raise InvalidValue(
            "bookkeeperMetadataServiceUri may be that of other clusters, too: say --alone if no "
            "other has ledgers at these bookies"
        )
    before_ms = SystemClock().wall_ms() - int(older_than_hours * 3_600_000)
    rows = asyncio.run(_tidy(config, before_ms, delete=delete))
    if not rows and form == "table":
        click.echo("There are none.")
    else:
        show(rows, form)


def _read(conf: Path) -> Config:
    config = Config.read(file=conf)
    if not config.metadata.in_cluster:
        raise InvalidValue(f"{conf} has no metadataStoreUrl: it describes no cluster")
    check_cluster()
    return config


async def _tidy(config: Config, before_ms: int, *, delete: bool) -> list[dict[str, object]]:
    from magnetar.broker.assemble.cluster_stores import open_janitor  # noqa: PLC0415 - kazoo

    async with open_janitor(config, LoopIteration(asyncio.get_running_loop())) as its:
        left = await its.find(before_ms)
        kept = await its.delete(left) if delete else {}
    return [
        {
            "ledger": each.ledger_id,
            "for": each.component,
            "of": each.owner,
            "made": datetime.fromtimestamp(each.created_ms / 1000, UTC).isoformat(" ", "seconds"),
            "state": "ended" if each.ended else "open",
            "done": kept.get(each.ledger_id, "deleted") if delete else "",
        }
        for each in left
    ]


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
