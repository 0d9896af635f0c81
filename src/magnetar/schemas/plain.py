"""Values as JSON shows them, and back: for people, who read and write them by a topic's schema."""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from importlib import import_module
from typing import Any, Final

from magnetar.errors import InvalidValue
from magnetar.model.schemas import SchemaInfo, SchemaType

from .auto import PRIMITIVES, decoder_of
from .json import JsonSchema
from .key_value import KeyValue, joined_payload, parts_of, separated
from .schema import Encoded, Payload

DEPTH_MAX: Final = 64
"""The deepest nesting of values; what lies deeper is shown as text."""

_TIMES: Final[dict[SchemaType, type[date | time]]] = {
    SchemaType.DATE: datetime,
    SchemaType.TIMESTAMP: datetime,
    SchemaType.INSTANT: datetime,
    SchemaType.LOCAL_DATE_TIME: datetime,
    SchemaType.LOCAL_DATE: date,
    SchemaType.TIME: time,
    SchemaType.LOCAL_TIME: time,
}


def shower_of(schema: SchemaInfo | None) -> Callable[[Encoded], Any]:
    """What shows the values of messages. None: what they are without a schema.

    Bytes that are text are shown as text. Raises UndecodableValue, as what it returns does.
    """
    decode = decoder_of(schema or SchemaInfo(SchemaType.NONE))
    return lambda message: plain(decode(message))


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can have it. Times are in ISO's form, bytes that are no text in base64."""
    found: Any
    if value is None or isinstance(value, bool | int | str):
        found = value
    elif isinstance(value, float):
        found = value if math.isfinite(value) else str(value)
    elif isinstance(value, bytes):
        found = text_of(value)
    elif isinstance(value, date | time):
        found = value.isoformat()
    elif depth < DEPTH_MAX:
        if isinstance(value, KeyValue):
            value = value._asdict()
        if isinstance(value, Mapping):
            found = {str(key): plain(each, depth + 1) for key, each in value.items()}
        elif isinstance(value, Sequence | set | frozenset):
            found = [plain(each, depth + 1) for each in value]
        elif hasattr(value, "DESCRIPTOR"):
            found = import_module("magnetar.schemas.protobuf").plain_of(value)
        else:
            found = str(value)  # Of decimals and the like.
    else:
        found = str(value)
    return found


def text_of(data: bytes) -> str:
    """Bytes that are text in UTF-8 as such, others in base64."""
    try:
        found = data.decode()
    except UnicodeDecodeError:
        return b64encode(data).decode()
    shows = found.isprintable() or all(each.isprintable() or each in "\t\r\n" for each in found)
    return found if shows else b64encode(data).decode()


def writer_of(schema: SchemaInfo | None) -> Callable[[Any], Payload]:
    """What makes payloads of values as JSON has them, by the schema of a topic.

    Without one, text is written as it is and anything else as JSON. Raises InvalidValue for a
    schema of which only the bytes can be sent; what it returns raises that for a value that does
    not fit.
    """
    if schema is None or schema.type is SchemaType.NONE:
        return _written_without
    kind = schema.type
    if kind in PRIMITIVES:
        encode = PRIMITIVES[kind]().encode
        return lambda value: Payload(encode(_typed(kind, value)))
    if kind is SchemaType.JSON:
        by_json = JsonSchema.from_definition(schema.data)
        return lambda value: Payload(by_json.encode(value))
    if kind is SchemaType.KEY_VALUE:
        return _pair_writer(schema)
    if kind is SchemaType.AVRO:
        by_avro = import_module("magnetar.schemas.avro").AvroSchema.from_definition(schema.data)
        return lambda value: Payload(by_avro.encode(value))
    if kind is SchemaType.PROTOBUF_NATIVE:
        home = import_module("magnetar.schemas.protobuf")
        of_topic = home.of_topic(schema)
        return lambda value: Payload(home.of_plain(of_topic, value))
    raise InvalidValue(f"values of {kind.name} are not made of JSON: send the payload in base64")


def _written_without(value: Any) -> Payload:
    if isinstance(value, str):
        return Payload(value.encode(errors="surrogatepass"))
    return Payload(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _typed(kind: SchemaType, value: Any) -> Any:
    """What JSON writes as text, as Python's type for it."""
    if kind in _TIMES and isinstance(value, str):
        try:
            return _TIMES[kind].fromisoformat(value)
        except ValueError:
            raise InvalidValue(
                f"a value of {kind.name} is a time in ISO's form, as 2026-11-22T16:00:00+00:00, "
                f"not {value!r:.60}"
            ) from None
    if kind in (SchemaType.FLOAT, SchemaType.DOUBLE) and value in ("nan", "inf", "-inf"):
        return float(value)
    return value


def _pair_writer(schema: SchemaInfo) -> Callable[[Any], Payload]:
    key, value = map(writer_of, parts_of(schema))

    def write(pair: Any) -> Payload:
        if not isinstance(pair, Mapping) or pair.keys() != {"key", "value"}:
            raise InvalidValue(
                'a value of KEY_VALUE is an object with both, as {"key": ..., "value": ...}'
            )
        parts = key(pair["key"]).data, value(pair["value"]).data
        if separated(schema):
            return Payload(parts[1], parts[0])
        return Payload(joined_payload(*parts))

    return write
