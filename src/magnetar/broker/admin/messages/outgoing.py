"""Messages as an operator writes them in JSON, checked, and as entries. Pure."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from typing import Any, Final

from magnetar.checks import NUMBER_MAX
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.message import metadata
from magnetar.message.entry import join

from .message_filter import time_ms

MESSAGES_MAX: Final = 1_000
"""The most messages of one request."""
_FIELDS: Final = frozenset(
    {
        "key",
        "keyBase64",
        "orderingKey",
        "properties",
        "eventTime",
        "deliverAt",
        "sequenceId",
        "value",
        "payload",
    }
)


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message that can be sent."""

    payload: bytes
    key: str | None
    key_b64: bool
    ordering_key: bytes | None
    properties: dict[str, str]
    event_time_ms: int | None
    deliver_at_ms: int | None
    sequence_id: int | None
    null_value: bool

    def entry(
        self, producer: str, sequence_id: int, now_ms: int, schema_version: bytes | None
    ) -> bytes:
        said = metadata.build(
            producer,
            sequence_id,
            now_ms,
            key=self.key,
            key_b64=self.key_b64,
            ordering_key=self.ordering_key,
            properties=self.properties,
            event_time_ms=self.event_time_ms,
            deliver_at_ms=self.deliver_at_ms,
            null_value=self.null_value,
            uncompressed_size=len(self.payload),
            schema_version=schema_version,
        )
        return join(said, self.payload)


class Reading:
    """Reads messages; ``writes`` makes payloads of values, by the topic's schema."""

    def __init__(self, writes: Callable[[Any], Any], checks: Callable[[bytes], object]) -> None:
        """``checks`` raises InvalidValue for a payload that is no value of the schema."""
        self._writes = writes
        self._checks = checks

    def all(self, messages: Any) -> list[Outgoing]:
        """Raises InvalidValue, which names the message by its index."""
        if not isinstance(messages, list) or not messages:
            raise InvalidValue('send {"messages": [{"value": ...}, ...]}')
        if len(messages) > MESSAGES_MAX:
            raise InvalidValue(
                f"{len(messages)} messages: a request has at most {MESSAGES_MAX}, send several"
            )
        found = []
        for index, message in enumerate(messages):
            try:
                found.append(self._one(message))
            except MagnetarError as error:
                raise InvalidValue(f"messages[{index}]: {error}") from None
        return found

    def _one(self, message: Any) -> Outgoing:
        if not isinstance(message, dict):
            raise InvalidValue("it is not an object")
        unknown = sorted(message.keys() - _FIELDS)
        if unknown:
            raise InvalidValue(f"{', '.join(unknown)} is none of {', '.join(sorted(_FIELDS))}")
        payload, own_key = self._payload(message)
        key, key_b64 = message.get("key"), bool(message.get("keyBase64"))
        if own_key is not None:
            key, key_b64 = own_key, True
        if key is not None and not isinstance(key, str):
            raise InvalidValue("key is not text")
        if key_b64 and key is not None:
            _bytes_of("key", key)
        ordering_key = message.get("orderingKey")
        return Outgoing(
            payload,
            key,
            key_b64,
            None if ordering_key is None else _bytes_of("orderingKey", ordering_key),
            _properties(message.get("properties") or {}),
            _time(message, "eventTime"),
            _time(message, "deliverAt"),
            _whole(message, "sequenceId"),
            "payload" not in message and message.get("value") is None,
        )

    def _payload(self, message: Mapping[str, Any]) -> tuple[bytes, str | None]:
        """The payload, and the key where the schema has it there."""
        if ("payload" in message) == ("value" in message):
            raise InvalidValue("it has either a value, or a payload in base64")
        if "payload" in message:
            payload = _bytes_of("payload", message["payload"])
            self._checks(payload)
            return payload, None
        if message["value"] is None:
            return b"", None
        written = self._writes(message["value"])
        key = written.key_bytes
        return written.data, None if key is None else b64encode(key).decode()


def _bytes_of(name: str, value: Any) -> bytes:
    try:
        return b64decode(value, validate=True)
    except (ValueError, TypeError):
        raise InvalidValue(f"{name} is not base64") from None


def _properties(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise InvalidValue("properties are not an object of texts")
    return value


def _time(message: Mapping[str, Any], name: str) -> int | None:
    value = message.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InvalidValue(f"{name} is neither milliseconds since the epoch nor a time as text")
    found = value if isinstance(value, int) else time_ms(value)
    if not 0 <= found <= NUMBER_MAX:
        raise InvalidValue(f"{name} is {found}, which is out of range")
    return found


def _whole(message: Mapping[str, Any], name: str) -> int | None:
    value = message.get(name)
    if value is None or (
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= NUMBER_MAX
    ):
        return value
    raise InvalidValue(f"{name} is not a whole number from 0 on")
