"""Reads the tenant, topic, subscription and body of a request. Pure.

A bad name is refused in Pulsar's words, before anything of that name is looked for. What a body
has in it is read by ``model/jackson.py``, and what that refuses is a Rejection with 400.
"""

import json
import re
from collections.abc import Callable
from dataclasses import field
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import unquote, unquote_plus

from magnetar.errors import InvalidName, InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model import jackson
from magnetar.model.names import (
    NON_PERSISTENT,
    PERSISTENT,
    NamespaceName,
    TopicName,
    check_entity,
    flaw,
)
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Request

_T = TypeVar("_T")
NUMBERS: Final = {
    "count": 32,
    "entry": 64,
    "ledger": 64,
    "position": 32,
    "seconds": 32,
    "time": 64,
    "timestamp": 64,
    "version": 64,
}
"""The segments of paths that are whole numbers, and of how many bits."""
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,19}")
_ENDS: Final = {"earliest": EARLIEST_MESSAGE, "latest": LATEST_MESSAGE}


def entity(request: Request, segment: str, kind: str) -> str:
    """A cluster's, tenant's or namespace's name."""
    name = unquote_plus(request.segments[segment])
    try:
        return check_entity(name)
    except InvalidName as error:
        raise _not_valid(kind, name) from error


def namespace(request: Request) -> NamespaceName:
    tenant = entity(request, "tenant", "Namespace")
    return NamespaceName(tenant, entity(request, "namespace", "Namespace"))


def domain(request: Request) -> str:
    """The domain of the topics that a path is about."""
    passing = request.path.startswith(f"/admin/v2/{NON_PERSISTENT}/")
    return NON_PERSISTENT if passing else PERSISTENT


def topic(request: Request, its_domain: str = "") -> TopicName:
    """The topic of a path, whose local name is one segment, encoded once."""
    where = namespace(request)
    name = f"{its_domain or domain(request)}://{where}/{unquote_plus(request.segments['topic'])}"
    try:
        return TopicName.parse(name)
    except InvalidName as error:
        raise _not_valid("Topic", name) from error


def subscription(request: Request) -> str:
    """A subscription's name, which clients encode once or twice."""
    return unquote(unquote_plus(request.segments["subscription"]))


def _not_valid(kind: str, name: str) -> Rejection:
    """A refusal in Pulsar's words, with the rule of ours that the name breaks, if it does."""
    found = flaw(name)
    return Rejection(412, f"{kind} name is not valid" + (f": {found}" if found else ""))


def check_numbers(request: Request) -> None:
    """Raise Rejection where a segment that is a number has something else."""
    for segment in request.segments.keys() & NUMBERS.keys():
        integer(request, segment)


def integer(request: Request, segment: str) -> int:
    """A number in the path. Anything else there makes it a path that does not exist."""
    sent, bits = request.segments[segment], NUMBERS.get(segment, 64)
    try:
        return _whole(sent, bits=bits)
    except ValueError as error:
        reason = f"The {segment} in the path is a whole number of {bits} bits, not '{sent}'"
        raise Rejection(404, reason) from error


def parameter(request: Request, name: str) -> int | None:
    """A number in the query, if there is one. Anything else there names no such thing."""
    sent = request.query.get(name)
    if sent is None:
        return None
    try:
        return _whole(sent)
    except ValueError as error:
        raise Rejection(404, f"{name} in the query is a whole number, not '{sent}'") from error


def body(request: Request) -> Any:
    """The JSON of a body, None when it is empty."""
    if not request.body.strip():
        return None
    try:
        value = jackson.loads(request.body)
        if b"\\u" in request.body:
            json.dumps(value, ensure_ascii=False).encode()  # Raises for half a surrogate pair.
    except (ValueError, RecursionError) as error:
        raise Rejection(400, f"The body is not JSON: {error}") from error
    return value


def json_object(request: Request) -> dict[str, Any] | None:
    """A body that is a JSON object; None for an empty one and for ``null``."""
    value = body(request)
    if value is not None and not isinstance(value, dict):
        raise Rejection(400, f"The body is a JSON {type(value).__name__}, not an object")
    return value


def string_map(value: Any, what: str) -> dict[str, str] | None:
    """A JSON object of strings; numbers and booleans become strings."""
    return None if value is None else read(jackson.text_map, value, what)


def string_list(value: Any, what: str) -> list[str] | None:
    """A JSON list of strings; numbers and booleans become strings."""
    return None if value is None else read(jackson.texts, value, what)


def read(reader: Callable[[Any, str], _T], value: Any, what: str) -> _T:
    """What a reader of ``model/jackson.py`` makes of a part of a body."""
    try:
        return reader(value, what)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None


def whole(value: Any, what: str, *, bits: int = 64) -> int:
    """A whole number of JSON, which may be quoted; nothing is 0."""
    return read(partial(jackson.whole, bits=bits), value, what) or 0


def number(request: Request) -> int:
    """A body that is one whole number, which may be quoted."""
    found = read(jackson.whole, body(request), "The body")
    if found is None:
        raise Rejection(400, "The request entity cannot be empty.")
    return found


def boolean(request: Request) -> bool:
    """A body that is true or false, which may be quoted."""
    found = read(jackson.truth, body(request), "The body")
    if found is None:
        raise Rejection(400, "Say true or false, in the body of the request")
    return found


@dataclass(frozen=True, slots=True)
class CursorPosition:
    """A message in a topic, whether to go behind it, and properties for the subscription."""

    message: MessageId
    excluded: bool = False
    properties: dict[str, str] = field(default_factory=dict)


def position(request: Request) -> CursorPosition | None:
    """A body that is ``"earliest"``, ``"latest"`` or a message id; None for an empty one."""
    value = body(request)
    if value is None:
        return None
    if isinstance(value, str):
        if value not in _ENDS:
            raise Rejection(
                400,
                f"Invalid value {value} for the position. Allowed values are [latest, earliest]",
            )
        return CursorPosition(_ENDS[value])
    if not isinstance(value, dict):
        raise Rejection(400, f"A message id is an object, not {json.dumps(value)[:200]}")
    ledger, entry = (_id_part(value, name, 0, 64) for name in ("ledgerId", "entryId"))
    partition, batch = (_id_part(value, name, -1, 32) for name in ("partitionIndex", "batchIndex"))
    excluded = bool(read(jackson.truth, value.get("excluded"), "excluded"))
    properties = string_map(value.get("properties"), "properties") or {}
    return CursorPosition(MessageId(ledger, entry, partition, batch), excluded, properties)


def _id_part(sent: dict[str, Any], name: str, default: int, bits: int) -> int:
    """A part of a message id; null is 0, as Jackson makes it."""
    found = whole(sent.get(name, default), name, bits=bits)
    if found < -1:
        raise Rejection(400, f"A message id is made of whole numbers from -1 on: {name} is {found}")
    return found


def required_position(request: Request) -> CursorPosition:
    """Like ``position``, but an empty body or half a message id is refused."""
    value = body(request)
    if value is None or (isinstance(value, dict) and not {"ledgerId", "entryId"} <= value.keys()):
        raise Rejection(
            400,
            'Say where to, in the body of the request: "earliest", "latest", or a message id with '
            "its ledgerId and entryId",
        )
    found = position(request)
    assert found is not None, "there is a body"
    return found


def _whole(text: str, *, bits: int = 64) -> int:
    """A number in a path or a query. Raises ValueError."""
    if not _NUMBER.fullmatch(text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise ValueError(text)
    return int(text)
