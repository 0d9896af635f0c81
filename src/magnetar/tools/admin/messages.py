"""The verbs that show stored messages: the headers of an answer, and the messages of its entry."""

from collections.abc import Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import click

from magnetar.errors import NotFound

from .call import Call

if TYPE_CHECKING:
    from magnetar.client.admin_api import AdminAnswer

_HEADER = "x-pulsar-"
_NO_MORE: Final = "Message not found"
"""How brokers say that a backlog has no entry of the number; the subscription is there."""


def one_message(call: Call) -> list[dict[str, Any]]:
    """The messages of one entry."""
    answer = call.ask()
    return list(_messages(_shown(answer), answer.body))


def peek(call: Call) -> list[dict[str, Any]]:
    """The next messages of a subscription, entry by entry, as many as consumers may get."""
    found: list[dict[str, Any]] = []
    wanted = call.given.get("count") or 1
    for number in count(1):
        try:
            answer = Call(call.verb, {**call.given, "count": number}, call.api).ask()
        except NotFound as error:
            if number == 1 and not str(error).startswith(_NO_MORE):
                raise
            break
        shown = _shown(answer)
        if shown.get("txn-uncommitted") == "true":
            break
        if "marker-type" not in shown and shown.get("txn-aborted") != "true":
            found += _messages(shown, answer.body)
        if len(found) >= wanted:
            break
    if not found:
        topic, name = call.given["topic"], call.given["subscription"]
        click.echo(f"{topic} has no message that {name} has not acknowledged", err=True)
    return found[:wanted]


def _shown(answer: "AdminAnswer") -> dict[str, str]:
    """What the headers say of an entry, by Pulsar's names in small letters."""
    headers = {name.lower(): value for name, value in answer.headers.items()}
    return {
        name.removeprefix(_HEADER): value
        for name, value in headers.items()
        if name.startswith(_HEADER)
    }


def _messages(shown: Mapping[str, str], body: bytes) -> Iterator[dict[str, Any]]:
    if "num-batch-message" not in shown:
        yield {**_about(shown), "data": _text(body)}
        return
    from magnetar.message.batch import parse_single, unpack  # noqa: PLC0415 - it needs protobuf

    messages = unpack(body, int(shown["num-batch-message"]))
    for number, (head, data) in enumerate(zip(*messages, strict=True)):
        single = parse_single(head)
        about = _about(shown)
        about["messageId"] = f"{about['messageId']}:{number}"
        about["properties"] = dict(single.properties)
        about["key"] = single.key
        yield {**about, "data": _text(data)}


def _about(shown: Mapping[str, str]) -> dict[str, Any]:
    """Describe an entry, the id first."""
    import json  # noqa: PLC0415 - just here

    found: dict[str, Any] = {
        "messageId": shown.get("message-id", ""),
        "publishTime": shown.get("publish-time"),
        "producer": shown.get("producer-name"),
        "key": shown.get("partition-key"),
    }
    properties = shown.get("property")
    try:
        found["properties"] = json.loads(properties) if properties else {}
    except ValueError:
        found["properties"] = properties
    return found


def _text(data: bytes) -> str:
    """As text where it is one, else in hexadecimal digits."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.hex(" ")
