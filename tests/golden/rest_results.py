"""Admin answers, cut down as the recordings keep them: only what the conversation is about.

Each shape of recorded result has a function here that cuts our answer to the same shape.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from golden.compare import NOTHING, compare
from golden.normal import Names

MASKED_KEYS = ("address", "when")
URL = re.compile(r"^(pulsar|http)://[^/]+$")
LEDGER = re.compile(r"(\d+):(-?\d+)")


def result_of(
    expected: Any, text: str, names: Names, about: str | None
) -> Iterator[tuple[str, Any, Any]]:
    """Fields of our answer that differ from the recorded ones: field, theirs, ours.

    ``about`` is the subscription that the recorded result was cut out of.
    """
    if expected == "":
        return
    ours = _like(expected, _cut(expected, json.loads(text), about))
    names.learn(expected, ours)
    yield from compare(_translated(expected, names), ours)


def _cut(expected: Any, ours: Any, about: str | None) -> Any:
    if not isinstance(expected, dict):
        return ours
    for keys, cut in _CUTS:
        if keys <= expected.keys():
            try:
                return cut(ours, about)
            except KeyError:
                return NOTHING
    return ours


def _active(stats: Any, _: str | None) -> Any:
    subscription = stats["subscriptions"]["s"]
    return {
        "active": subscription["activeConsumerName"],
        "consumers": [consumer["consumerName"] for consumer in subscription["consumers"]],
    }


def _backlog(stats: Any, about: str | None) -> Any:
    return stats["subscriptions"][about]


def _backlogs(body: Any, _: str | None) -> Any:
    if "cursors" in body:
        return {name: cursor["markDeletePosition"] for name, cursor in body["cursors"].items()}
    return {name: sub["msgBacklog"] for name, sub in body["subscriptions"].items()}


def _cursor(internal: Any, about: str | None) -> Any:
    return internal["cursors"][about]


def _delays(stats: Any, _: str | None) -> Any:
    return {
        name: {"msgDelayed": one["msgDelayed"], "backlog": one["msgBacklog"]}
        for name, one in stats["subscriptions"].items()
    }


def _drops(stats: Any, _: str | None) -> Any:
    subscriptions = {
        name: {"type": one["type"], "drop": one["msgDropRate"], "backlog": one["msgBacklog"]}
        for name, one in stats["subscriptions"].items()
    }
    return {"in": stats["msgInCounter"], "subs": subscriptions}


def _draining(stats: Any, _: str | None) -> Any:
    subscription = stats["subscriptions"]["s"]
    return {"sub": subscription, "consumers": subscription["consumers"]}


def _sticky(stats: Any, _: str | None) -> Any:
    subscription = stats["subscriptions"]["s"]
    return {
        **{
            consumer["consumerName"]: consumer.get("keyHashRangeArrays")
            for consumer in subscription["consumers"]
        },
        "mode": subscription.get("keySharedMode"),
    }


def _marks(internal: Any, _: str | None) -> Any:
    marks = {name: cursor["markDeletePosition"] for name, cursor in internal["cursors"].items()}
    return {**internal, "md": marks}


def _compacted(internal: Any, _: str | None) -> Any:
    return {**internal, "cursors": _backlogs(internal, None)}


def _publishers(stats: Any, _: str | None) -> Any:
    return {**stats, "subscriptions": list(stats["subscriptions"])}


def _subscriptions(stats: Any, _: str | None) -> Any:
    return {
        name: {
            "type": sub["type"],
            "durable": sub["durable"],
            "consumers": [consumer["consumerName"] for consumer in sub["consumers"]],
            "props": sub["subscriptionProperties"],
        }
        for name, sub in stats["subscriptions"].items()
    }


def _last(internal: Any, _: str | None) -> Any:
    marks = {name: cursor["markDeletePosition"] for name, cursor in internal["cursors"].items()}
    return {"last": internal["lastConfirmedEntry"], **marks}


def _transactions(stats: Any, _: str | None) -> Any:
    return {**stats, "backlog": stats["subscriptions"]["s"]["msgBacklog"]}


_CUTS: list[tuple[set[str], Callable[[Any, str | None], Any]]] = [
    ({"active"}, _active),
    ({"in", "subs"}, _drops),
    ({"sKey_Shared", "sShared"}, _delays),
    ({"msgBacklog", "unackedMessages"}, _backlog),
    ({"markDeletePosition"}, _cursor),
    ({"publishers"}, _publishers),
    ({"sub", "consumers"}, _draining),
    ({"mode"}, _sticky),
    ({"md"}, _marks),
    ({"last", "s"}, _last),
    ({"ongoingTxnCount"}, _transactions),
    ({"s", "e"}, _backlogs),
    ({"compactedLedger"}, _compacted),
    ({"ex", "fo"}, _subscriptions),
]


def _like(expected: Any, ours: Any) -> Any:
    """Only what is recorded, at every depth; addresses and the like as recorded."""
    if isinstance(expected, dict) and isinstance(ours, dict):
        return {
            key: value if key in MASKED_KEYS else _like(value, ours.get(key, NOTHING))
            for key, value in expected.items()
        }
    if isinstance(expected, list) and isinstance(ours, list) and len(expected) == len(ours):
        return [_like(one, other) for one, other in zip(expected, ours, strict=True)]
    return URL.sub(r"\1://<broker>", ours) if isinstance(ours, str) else ours


def _translated(value: Any, names: Names, key: str = "") -> Any:
    if isinstance(value, dict):
        return {k: _translated(v, names, k) for k, v in value.items()}
    if isinstance(value, list):
        return [_translated(item, names) for item in value]
    if key == "ledgerId":
        return names.ledgers.get(value, value)
    return _translated_text(value, names) if isinstance(value, str) else value


def _translated_text(text: str, names: Names) -> str:
    if text in names.producers:
        return names.producers[text]
    if URL.match(text):
        return URL.sub(r"\1://<broker>", text)
    return LEDGER.sub(
        lambda match: f"{names.ledgers.get(int(match[1]), match[1])}:{match[2]}", text
    )
