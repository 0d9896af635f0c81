"""Messages as the application sends them. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeAlias, TypedDict, cast

from magnetar.checks import (
    check_bytes,
    check_flag,
    check_key,
    check_text,
    copy_properties,
    milliseconds,
    seconds,
    whole_number,
)
from magnetar.errors import InvalidValue
from magnetar.model.position import MessageId
from magnetar.schemas.schema import Schema, T

Buffer: TypeAlias = bytearray | memoryview
"""It is taken for bytes too: copied once, by the call that sends it."""

DELAY_S_MAX: Final = 3_153_600_000
"""No message is delayed for longer than a century."""


Settled = Callable[[MessageId | None, Exception | None], None]
"""Gets a message's id once it is stored, or why it failed."""


class MessageDetails(TypedDict, total=False):
    """What a message may have beside its payload: the keyword arguments of every call that sends.

    A key in bytes is written as base64, as Pulsar's other clients do. ``ordering_key`` takes the
    key's place where a Key_Shared subscription shares messages out. ``event_time_ms`` is the
    application's own time, milliseconds since the epoch. ``sequence_id`` must rise from message
    to message; leave it out to have the producer count. Shared and Key_Shared subscriptions deliver
    a message with ``deliver_after_s``, or ``deliver_at_ms`` since the epoch, when that is over.
    A time in milliseconds may be a ``datetime`` with a time zone, one in seconds a ``timedelta``.
    With ``null_value`` it has no value: where its topic is compacted, that removes its key.
    ``replication_clusters`` names those that shall get it, () none but this one; None leaves that
    to the namespace's policy.
    ``schema_version`` says that the value is a payload in bytes that was encoded before, by a
    schema that the topic has under this number: see ``Producer.register_schema``.
    """

    key: str | bytes | None
    ordering_key: bytes | None
    properties: Mapping[str, str] | None
    event_time_ms: int | datetime | None
    sequence_id: int | None
    deliver_after_s: float | timedelta | None
    deliver_at_ms: int | datetime | None
    null_value: bool
    replication_clusters: Sequence[str] | None
    schema_version: int | None


@dataclass(slots=True)
class OutgoingMessage(Generic[T]):
    """A message to send that is more than its value. ``MessageDetails`` explains the fields."""

    value: T | Buffer  # The payload in bytes; what the producer's schema takes, when it has one.
    key: str | bytes | None = None
    ordering_key: bytes | None = None
    properties: Mapping[str, str] | None = None
    event_time_ms: int | datetime | None = None
    sequence_id: int | None = None
    deliver_after_s: float | timedelta | None = None
    deliver_at_ms: int | datetime | None = None
    null_value: bool = False
    replication_clusters: Sequence[str] | None = None
    schema_version: int | None = None
    on_settled: Settled | None = None  # Called once it is stored or has failed; of interceptors.

    @property
    def alone(self) -> bool:
        """It says of itself what only a message outside a batch can.

        That is a delay, its clusters, or a schema that is not its producer's.
        """
        return (
            self.deliver_after_s is not None
            or self.deliver_at_ms is not None
            or self.replication_clusters is not None
            or self.schema_version is not None
        )

    def due_ms(self, now_ms: int) -> int | None:
        """When it is to be delivered if it is sent now; None: at once."""
        if self.deliver_after_s is None:
            return self.deliver_at_ms  # type: ignore[return-value]  # ``checked`` made it one.
        return now_ms + round(self.deliver_after_s * 1000)  # type: ignore[arg-type]

    @property
    def more_size(self) -> int:
        """The bytes it counts beside its payload: its keys and properties."""
        size = len(self.key or "") + len(self.ordering_key or b"")
        if self.properties:
            size += sum(len(name) + len(value) for name, value in self.properties.items())
        return size

    def checked(self, data: bytes) -> "OutgoingMessage | None":
        """Check and copy it, so that the application cannot change it; None for just a payload.

        ``data`` is the payload, which is left to the queue. Raises InvalidValue.
        """
        key, properties = self.key, self.properties
        event_time_ms, sequence_id = self.event_time_ms, self.sequence_id
        if (
            key is None
            and properties is None
            and self.ordering_key is None
            and event_time_ms is None
            and sequence_id is None
            and not self.null_value
            and not self.alone
            and self.on_settled is None
        ):
            return None
        if type(key) is not str or not key.isascii():
            check_key(key)
        if self.ordering_key is not None:
            check_bytes("ordering_key", self.ordering_key)
        if properties is not None:
            properties = copy_properties("properties", properties)
        if event_time_ms is not None:
            event_time_ms = milliseconds("event_time_ms", event_time_ms)
        if sequence_id is not None:
            sequence_id = whole_number("sequence_id", sequence_id)
        if self.null_value is False and not self.alone:
            return OutgoingMessage(
                data,
                key,
                self.ordering_key,
                properties,
                event_time_ms,
                sequence_id,
                on_settled=self.on_settled,
            )
        if self.schema_version is not None:
            whole_number("schema_version", self.schema_version)
        return OutgoingMessage(
            data,
            key,
            self.ordering_key,
            properties,
            event_time_ms,
            sequence_id,
            *self._checked_delay(),
            self._checked_null_value(data),
            self._checked_clusters(),
            self.schema_version,
            self.on_settled,
        )

    def _checked_null_value(self, data: bytes) -> bool:
        check_flag("null_value", self.null_value)
        if self.null_value and data:
            raise InvalidValue("null_value is set, and there is a value: send b'' with it")
        return self.null_value

    def _checked_clusters(self) -> Sequence[str] | None:
        given = self.replication_clusters
        if given is None:
            return None
        if isinstance(given, str):
            raise InvalidValue("replication_clusters are several names: put the one into a list")
        for name in given:
            check_text("a name in replication_clusters", name)
        return tuple(given)

    def _checked_delay(self) -> tuple[float | None, int | None]:
        after_s, at_ms = self.deliver_after_s, self.deliver_at_ms
        if after_s is not None:
            after_s = seconds("deliver_after_s", after_s, most=DELAY_S_MAX)
            if at_ms is not None:
                raise InvalidValue("deliver_after_s and deliver_at_ms are both set: leave one out")
        if at_ms is not None:
            at_ms = milliseconds("deliver_at_ms", at_ms)
        return after_s, at_ms


_NO_DETAILS: Final[MessageDetails] = {}

BeforeSend = Callable[[OutgoingMessage[Any]], OutgoingMessage[Any]]


def outgoing(
    value: T | Buffer | OutgoingMessage[T], details: MessageDetails
) -> T | Buffer | OutgoingMessage[T]:
    """Join the arguments of a call that sends into one value. Raises InvalidValue."""
    if not details:
        return value
    if isinstance(value, OutgoingMessage):
        raise InvalidValue(f"{', '.join(details)}: an OutgoingMessage has its own; set them there")
    return OutgoingMessage(value, **details)


def prepare(
    value: T | Buffer | OutgoingMessage[T],
    details: MessageDetails = _NO_DETAILS,
    schema: Schema[T] | None = None,
    before_send: BeforeSend | None = None,
) -> tuple[bytes, OutgoingMessage | None]:
    """Return the payload, and the message if it has more than that. Raises InvalidValue.

    Every message that is sent comes through here, whatever call sends it: this is where a schema
    encodes its value, and before that ``before_send`` may change it, which gives a message that is
    told how it ends. Without a schema values are bytes.
    """
    value = outgoing(value, details)
    if before_send is not None:
        value = before_send(value if isinstance(value, OutgoingMessage) else OutgoingMessage(value))
        try:
            return prepare(value, schema=schema)
        except Exception as error:
            not_sent(value, error)
            raise
    if not isinstance(value, OutgoingMessage):
        data, key = _encoded(value, schema)
        return data, None if key is None else OutgoingMessage(data, key)
    if value.null_value and not value.value:
        return b"", value.checked(b"")  # Its key, if any, is the application's.
    if value.schema_version is not None:
        schema = None  # It was encoded before.
    data, key = _encoded(value.value, schema)
    message = value.checked(data)
    if key is None:
        return data, message
    if value.key is not None:
        raise InvalidValue("key: the schema takes it from the value; leave it out")
    message = message or OutgoingMessage(data)
    message.key = key
    return data, message


def not_sent(message: bytes | Buffer | OutgoingMessage[Any] | None, error: Exception) -> None:
    """Tell who wants to know how this message ends that it was refused."""
    if isinstance(message, OutgoingMessage) and message.on_settled is not None:
        message.on_settled(None, error)


def prepare_many(
    values: Iterable[T | Buffer | OutgoingMessage[T]],
    schema: Schema[T] | None = None,
    before_send: BeforeSend | None = None,
) -> Sequence[bytes | Buffer | OutgoingMessage]:
    """Return the messages, their values encoded. Raises InvalidValue, also as ``many``."""
    values = many(values)
    if schema is None and before_send is None:
        given = values if isinstance(values, list | tuple) else list(values)
        return cast("Sequence[bytes | Buffer | OutgoingMessage]", given)
    found = []
    try:
        for value in values:
            data, message = prepare(value, _NO_DETAILS, schema, before_send)
            found.append(message or data)
    except Exception as error:
        for refused in found:
            not_sent(refused, error)
        raise
    return found


def each_with(
    values: Iterable[T | Buffer | OutgoingMessage[T]], details: MessageDetails
) -> Iterable[T | Buffer | OutgoingMessage[T]]:
    """Give the same details to each of many messages. Raises InvalidValue, also as ``many``."""
    if not details:
        return values
    if "sequence_id" in details:
        raise InvalidValue("sequence_id is that of one message: set it in each OutgoingMessage")
    return [outgoing(value, details) for value in many(values)]


def many(
    values: Iterable[T | Buffer | OutgoingMessage[T]],
) -> Iterable[T | Buffer | OutgoingMessage[T]]:
    """Return ``values``. Raises InvalidValue for a single message, and what is not iterable."""
    kind = type(values).__name__
    if isinstance(values, bytes | bytearray | memoryview | str | OutgoingMessage):
        raise InvalidValue(f"many messages are wanted, not one: put the {kind} into a list")
    if not isinstance(values, Iterable):
        raise InvalidValue(
            f"many messages are wanted, as a list or another iterable, not {kind}; of an "
            "asynchronous one, send a list of what has come, again and again"
        )
    return values


def _encoded(value: T | Buffer, schema: Schema[T] | None) -> tuple[bytes, bytes | None]:
    """The payload, and the key if the schema makes it; the queue refuses what is no payload."""
    if schema is not None:
        given = cast("T", value)
        return schema.encode(given), schema.encode_key(given)
    if type(value) is not bytes and isinstance(value, bytes | bytearray | memoryview):
        return bytes(value), None
    return cast("bytes", value), None
