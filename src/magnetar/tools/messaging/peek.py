"""``magnetar peek``: looks at messages without consuming them, by the broker's browser."""

from typing import Any

import click

from magnetar.tools.connection import Connection, admin_options
from magnetar.tools.output import output_lines, printable


@click.command()
@click.argument("topic")
@click.option("-s", "--subscription", help="Only what this subscription has not acknowledged.")
@click.option("-n", "--count", default=1, show_default=True, help="How many.")
@click.option("--from", "start", help="earliest, latest, ledger:entry, or a time. [earliest]")
@click.option("--backwards", is_flag=True, help="The newest first.")
@click.option("--key", help="Only messages with this key.")
@click.option("--filter", "contains", help="Only with this text, or property name=value.")
@output_lines("a line for each message.")
@admin_options
def peek(connection: Connection, topic: str, count: int, form: str, **given: Any) -> None:
    """Show messages of TOPIC; no subscription notices.

    Exit code 0, also where there is none, which is said on standard error.

    Example: magnetar peek orders -s billing -n 5
    """
    from magnetar.client.admin_api import topic_path  # noqa: PLC0415 - --help needs none of it

    api, path = connection.api(), f"/admin/v2/{topic_path(topic)}/messages"
    query: dict[str, Any] = {
        "from": given["start"] or ("latest" if given["backwards"] else "earliest"),
        "backwards": given["backwards"],
        "key": given["key"],
        "filter": given["contains"],
        "subscription": given["subscription"],
    }
    left = count
    while left > 0:
        page = api.get(path, count=min(left, 500), **query)
        for message in page["messages"]:
            _show(message, form)
        left -= len(page["messages"])
        if page["next"] is None:
            break
        query["from"] = page["next"]
    if left == count > 0:
        click.echo(_nothing(topic, given), err=True)


def _nothing(topic: str, given: dict[str, Any]) -> str:
    if given["key"] or given["contains"] or given["start"]:
        return f"{topic} has no such message"
    name = given["subscription"]
    return f"{topic} has no message{f' that {name} has not acknowledged' if name else ''}"


def _show(message: dict[str, Any], form: str) -> None:
    from .shown import BOUNDARY, line_of  # noqa: PLC0415

    if form == "json":
        click.echo(line_of(message))
        return
    place = message["id"]
    pairs = ", ".join(f"{name}={value}" for name, value in message["properties"].items())
    value = message.get("valueError") or message["value"]
    content = value if isinstance(value, str) else line_of(value)
    batch = f":{place['batchIndex']}" if place["batchIndex"] >= 0 else ""
    text = (
        f"id:[{place['ledgerId']}:{place['entryId']}{batch}], "
        f"publishTime:[{message['publishTime']}], key:[{message['key'] or 'null'}], "
        f"properties:[{pairs}], content:{content}"
    )
    click.echo(f"{BOUNDARY}\n{printable(text)}")
