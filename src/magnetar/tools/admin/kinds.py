"""How the texts of options are read, and how values stand in a path. Pure."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote

from magnetar.errors import InvalidName
from magnetar.model.names import NamespaceName, TopicName

_TIMES: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_SIZES: Final = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_AMOUNT: Final = re.compile(r"\s*(-?\d+)\s*([a-zA-Z]?)\s*")
LATEST: Final = {"ledgerId": 2**63 - 1, "entryId": 2**63 - 1}
EARLIEST: Final = {"ledgerId": -1, "entryId": -1}


class Raw(str):
    """A text that a body is as it stands, not as JSON."""

    __slots__ = ()


def segment(value: object) -> str:
    """A name as one part of a path."""
    return quote(str(value), safe="")


def _identity(text: str) -> object:
    return text


@dataclass(frozen=True, slots=True)
class Kind:
    """How a text becomes a value, and a value a part of a path."""

    name: str
    """What ``--help`` shows in its place; "" for a flag, which has no text."""
    read: Callable[[str], object] = _identity
    """Raises ValueError with what it has to be."""
    path: Callable[[object], str] = segment


def _seconds(text: str) -> int:
    return _amount(text, _TIMES, "a time as 90s, 10m, 3h, 7d, 2w, or seconds; -1 for none")


def _bytes(text: str) -> int:
    return _amount(text, _SIZES, "a size as 10M, 2G, 1T, or bytes; -1 for none")


def _amount(text: str, units: dict[str, int], wanted: str) -> int:
    found = _AMOUNT.fullmatch(text)
    unit = found[2].lower() if found else ""
    if found is None or (unit and unit not in units):
        raise ValueError(wanted)
    count = int(found[1])
    return count if count < 0 else count * units.get(unit, 1)


def _scaled(read: Callable[[str], int], *, times: int = 1, over: int = 1) -> Callable[[str], int]:
    def scaled(text: str) -> int:
        value = read(text)
        return value if value < 0 else value * times // over

    return scaled


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number") from None


def _truth(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise ValueError("true or false")
    return text.lower() == "true"


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        raise ValueError("JSON") from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _pairs(text: str) -> dict[str, str]:
    found = {}
    for word in _words(text):
        key, equals, value = word.partition("=")
        if not equals:
            raise ValueError("key=value, with commas between several")
        found[key] = value
    return found


def _message_id(text: str) -> dict[str, int]:
    named = {"latest": LATEST, "earliest": EARLIEST}.get(text)
    ledger, colon, entry = text.partition(":")
    if named is None and not (colon and _whole(ledger) and _whole(entry)):
        raise ValueError("latest, earliest or ledgerId:entryId")
    position = named or {"ledgerId": int(ledger), "entryId": int(entry)}
    return {**position, "partitionIndex": -1, "batchIndex": -1}


def _whole(text: str) -> bool:
    return bool(re.fullmatch(r"-?\d+", text))


def _topic(text: str) -> TopicName:
    try:
        return TopicName.parse(text)
    except InvalidName as error:
        raise ValueError(f"a topic: {error}") from None


def _namespace(text: str) -> NamespaceName:
    try:
        return NamespaceName.parse(text)
    except InvalidName:
        raise ValueError("tenant/namespace") from None


def _topic_path(topic: object) -> str:
    assert isinstance(topic, TopicName)
    return f"{topic.domain}/{topic.namespace}/{segment(topic.local)}"


def _schema_path(topic: object) -> str:
    assert isinstance(topic, TopicName)
    return f"{topic.namespace}/{segment(topic.local)}"


def _package(text: str) -> str:
    kind, scheme, rest = text.partition("://")
    name, at, version = rest.partition("@")
    if not scheme or not at or name.count("/") != 2:
        raise ValueError("type://tenant/namespace/name@version")
    return f"{kind}/{name}/{version}"


def _any_package(text: str) -> str:
    kind, scheme, rest = text.partition("://")
    if not scheme or rest.count("/") != 2:
        raise ValueError("type://tenant/namespace/name")
    return f"{kind}/{rest.partition('@')[0]}"


def _datetime(text: str) -> int:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise ValueError("a time with its zone, as 2021-06-28T16:53:08Z")
    return int(moment.timestamp() * 1000)


def _parts(value: object) -> str:
    return quote(str(value), safe="/")


FLAG: Final = Kind("")
TEXT: Final = Kind("TEXT")
RAW: Final = Kind("TEXT", Raw)
INTEGER: Final = Kind("NUMBER", _integer)
NUMBER: Final = Kind("NUMBER", _number)
BOOLEAN: Final = Kind("true|false", _truth)
JSON: Final = Kind("JSON", _json)
WORDS: Final = Kind("A,B", _words)
PAIRS: Final = Kind("KEY=VALUE", _pairs)
SECONDS: Final = Kind("TIME", _seconds)
MILLIS: Final = Kind("TIME", _scaled(_seconds, times=1000))
MINUTES: Final = Kind("TIME", _scaled(_seconds, over=60))
BYTES: Final = Kind("SIZE", _bytes)
MEBIBYTES: Final = Kind("SIZE", _scaled(_bytes, over=1 << 20))
MESSAGE_ID: Final = Kind("ID", _message_id)
TOPIC: Final = Kind("TOPIC", _topic, _topic_path)
# A topic, or a pattern or a file: its text is read when it is known which.
TOPICS: Final = Kind("TOPIC", _identity, lambda name: _topic_path(TopicName.parse(str(name))))
TOPIC_OF_SCHEMA: Final = Kind("TOPIC", _topic, _schema_path)
NAMESPACE: Final = Kind("NAMESPACE", _namespace, _parts)
PACKAGE: Final = Kind("PACKAGE", _package, _parts)
# Brokers decode the name of a subscription once more than other names: so do Pulsar's.
SUBSCRIPTION: Final = Kind("NAME", _identity, lambda name: segment(segment(name)))
ANY_PACKAGE: Final = Kind("PACKAGE", _any_package, _parts)
DATETIME: Final = Kind("DATETIME", _datetime)
FILE: Final = Kind("FILE")


def words_of(*known: str) -> Callable[[str], list[str]]:
    """Reads words with commas between, all of which are known."""

    def read(text: str) -> list[str]:
        if unknown := [word for word in _words(text) if word not in known]:
            raise ValueError(f"of {', '.join(known)}; not {unknown[0]}")
        return _words(text)

    return read


def choice(*words: str) -> Kind:
    """One of the words, whatever their case; its value is the word as it is here."""
    known = {word.lower(): word for word in words}

    def read(text: str) -> str:
        if text.lower() not in known:
            raise ValueError(f"one of {', '.join(words)}")
        return known[text.lower()]

    return Kind("|".join(words) if len(words) < 4 else "NAME", read)


ACTIONS: Final = Kind(
    "ACTIONS",
    words_of("produce", "consume", "sources", "sinks", "functions", "packages"),
)
