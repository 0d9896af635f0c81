"""Options about messages: schemas, keys to encrypt with, properties."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from magnetar.checks import copy_properties
from magnetar.client.encryption.keys import EncryptionKey
from magnetar.errors import InvalidValue
from magnetar.schemas import (
    AutoConsumeSchema,
    BytesSchema,
    JsonSchema,
    KeyValue,
    KeyValueEncoding,
    KeyValueSchema,
    Schema,
    StringSchema,
)

Parse = Callable[[bytes], Any]
"""A value of a schema, from the bytes that were given for it."""


def schema_of(text: str, option: str) -> tuple[Schema[Any] | None, Parse]:
    """A schema by its name: ``bytes``, ``string``, ``json:{...}`` or ``avro:{...}``.

    Raises InvalidValue.
    """
    kind, _, definition = text.partition(":")
    if kind == "bytes" and not definition:
        return None, bytes
    if kind == "string" and not definition:
        return StringSchema(), lambda data: data.decode(errors="surrogateescape")
    if kind == "json" and definition:
        return JsonSchema.from_definition(definition), _from_json
    if kind == "avro" and definition:
        from magnetar.schemas import AvroSchema  # noqa: PLC0415 - it brings a library along

        return AvroSchema.from_definition(definition), _from_json
    raise InvalidValue(
        f"{option} {text!r:.60} is no schema: bytes, string, json:DEFINITION or avro:DEFINITION"
    )


def pair_of(
    key: Schema[Any] | None, value: Schema[Any] | None, encoding: str
) -> KeyValueSchema[Any, Any]:
    """A schema of keys and values together."""
    return KeyValueSchema(
        key or BytesSchema(), value or BytesSchema(), KeyValueEncoding[encoding.upper()]
    )


def paired(key: Any, value: Any) -> KeyValue[Any, Any]:
    return KeyValue(key, value)


def receiving(text: str) -> Schema[Any] | None:
    """What ``--schema-type`` means for a consumer."""
    return AutoConsumeSchema() if text == "auto_consume" else None


def properties_of(pairs: Iterable[str]) -> dict[str, str]:
    """``a=b`` or ``a=b,c=d``. Raises a usage error."""
    found = {}
    for pair in pairs:
        for each in pair.split(","):
            name, is_pair, value = each.partition("=")
            if not is_pair or not name.strip():
                raise click.BadParameter(
                    f"{each!r:.60} is not name=value", param_hint="--properties"
                )
            found[name.strip()] = value
    return copy_properties("properties", found)


class OneKey:
    """The key that the command line names: ``file:///...`` or ``data:...;base64,...``, for all."""

    def __init__(self, place: str) -> None:
        """Raises InvalidValue."""
        self._pem = _content(place)

    def public_key(self, name: str) -> EncryptionKey:
        return EncryptionKey(self._pem)

    def private_key(self, name: str, metadata: Mapping[str, str]) -> EncryptionKey:
        return EncryptionKey(self._pem, metadata)


def _content(place: str) -> bytes:
    if place.startswith("data:"):
        _, _, data = place.partition(",")
        try:
            return b64decode(data, validate=True)
        except ValueError:
            raise InvalidValue("--encryption-key-value data:... is not base64") from None
    path = Path(place.removeprefix("file://"))
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidValue(
            f"cannot read --encryption-key-value {place}: {error.strerror}"
        ) from error


def _from_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise InvalidValue(f"{data[:60]!r} is not JSON, which the schema needs: {error}") from None
