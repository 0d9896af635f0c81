"""``magnetar spark``: what queries of Spark have left at a broker."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import click

from magnetar.errors import InvalidValue, NotFound
from magnetar.model.names import NamespaceName
from magnetar.tools.connection import Connection, admin_options
from magnetar.tools.output import output_format, show

if TYPE_CHECKING:
    from magnetar.client.admin_api import AdminApi

_PREFIX: Final = "spark-pulsar"
_OWN: Final = r"-[0-9a-f]{12}"
"""What follows the prefix in the name of a query's own subscription."""


class _Left(NamedTuple):
    """A query's own subscription that nobody uses now, and no checkpoint that we saw names."""

    topic: str
    subscription: str
    backlog: int  # Entries.

    @property
    def row(self) -> dict[str, object]:
        return {"topic": self.topic, "subscription": self.subscription, "backlog": self.backlog}


@click.group()
def spark() -> None:
    """Look after what queries of Spark have left."""


@spark.command()
@admin_options
@click.argument("namespace", default="public/default")
@click.option(
    "--checkpoints",
    multiple=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="A folder with checkpoints that are in use, at any depth: what they name is left alone. "
    "May be repeated.",
)
@click.option("--prefix", default=_PREFIX, show_default=True, help="As subscriptionPrefix had it.")
@click.option("--name", "names", multiple=True, help="Only this subscription. May be repeated.")
@click.option("--remove", is_flag=True, help="Delete them: what they hold may then be trimmed.")
@output_format
def subscriptions(
    connection: Connection,
    *,
    namespace: str,
    checkpoints: Sequence[Path],
    prefix: str,
    names: Sequence[str],
    remove: bool,
    form: str,
) -> None:
    """List the subscriptions of NAMESPACE that queries made for themselves and nobody uses.

    A query that is stopped needs its own when it starts again: its checkpoint names it. So
    --remove wants to know of the checkpoints that are in use, or the names.

    Example: magnetar spark subscriptions shop/orders --checkpoints /var/lib/checkpoints --remove
    """
    if remove and not (checkpoints or names):
        raise InvalidValue(
            "--remove would take them from queries that are stopped, too: say where the "
            "checkpoints are that are in use, with --checkpoints DIR, or which ones, with --name"
        )
    api = connection.api()
    kept = set(_named_by(checkpoints))
    found = [
        each
        for each in _unused(api, namespace, re.compile(re.escape(prefix) + _OWN))
        if each.subscription not in kept and (not names or each.subscription in names)
    ]
    if remove:
        for each in found:
            api.send("DELETE", f"{_path(each.topic)}/subscription/{quote(each.subscription)}")
    show([each.row for each in found], form)
    if form == "table":
        done = "removed" if remove else "left by queries; --remove deletes them"
        click.echo(f"{len(found)} {done}" if found else "none is left")


def _unused(api: "AdminApi", namespace: str, own: re.Pattern[str]) -> Iterator[_Left]:
    path = f"/admin/v2/persistent/{NamespaceName.parse(namespace)}"
    for topic in sorted(api.get(path)):
        try:
            told = api.get(f"{_path(topic)}/stats")["subscriptions"]
        except NotFound:  # It went meanwhile.
            continue
        for name, said in sorted(told.items()):
            if own.fullmatch(name) and not said["consumers"]:
                yield _Left(topic, name, said["msgBacklog"])


def _path(topic: str) -> str:
    from magnetar.client.admin_api import topic_path  # noqa: PLC0415 - of no use to --help

    return f"/admin/v2/{topic_path(topic)}"


def _named_by(checkpoints: Iterable[Path]) -> Iterator[str]:
    """The subscriptions in offsets. Raises InvalidValue for a folder that has no checkpoint."""
    for folder in checkpoints:
        files = [file for file in folder.rglob("offsets/*") if file.name.isdecimal()]
        if not files:
            raise InvalidValue(f"{folder} has no checkpoint in it: no folder 'offsets' with files")
        for file in files:
            for line in file.read_text().splitlines():
                yield from _named_in(line)


def _named_in(line: str) -> Iterator[str]:
    try:
        told: Any = json.loads(line)
    except ValueError:
        return  # The version, or the offset of another source.
    if isinstance(told, dict) and isinstance(told.get("subscription"), str):
        yield told["subscription"]
