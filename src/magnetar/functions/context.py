"""What a function may ask and do while it runs: Pulsar's Context. What it sends is collected.

What a function publishes leaves together with what it returns, after it has returned: a message
whose processing fails leaves nothing behind.
"""

import logging
import os
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from magnetar.client.message import Message
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.compat.enums import CompressionType
from magnetar.compat.functions.context import Context
from magnetar.compat.message import Message as TheirMessage
from magnetar.compat.message import wrapped
from magnetar.compat.message_id import MessageId
from magnetar.compat.schema.schema import BytesSchema
from magnetar.errors import InvalidValue, NotAllowed
from magnetar.functions.config import FunctionConfig
from magnetar.functions.instance_metrics import InstanceMetrics
from magnetar.functions.sending import Outgoing
from magnetar.functions.values import IDENTITY, Input, Serializer
from magnetar.model.names import TopicName

_BYTES: Final = BytesSchema()


class State(Protocol):
    """The keys of one function, which outlive it."""

    def put(self, key: str, value: bytes) -> None: ...

    def get(self, key: str) -> bytes | None: ...

    def delete(self, key: str) -> None: ...

    def increment(self, key: str, amount: int) -> None: ...

    def counter(self, key: str) -> int | None: ...

    def delete_counter(self, key: str) -> None: ...


class FunctionContext(Context):
    """The context of one instance; ``begin`` says which message it is about."""

    def __init__(
        self,
        config: FunctionConfig,
        *,
        instance_id: int,
        logger: logging.Logger,
        metrics: InstanceMetrics,
        serializer: Callable[[str], Serializer],
        state: Callable[[], State],
    ) -> None:
        self._config = config
        self._instance_id = instance_id
        self._logger = logger
        self._metrics = metrics
        self._serializer = serializer
        self._state = state
        self._messages: list[Input] = []
        self.sent: list[Outgoing] = []
        self.acknowledged: list[Message[Any]] = []

    def begin(self, message: Input) -> None:
        """The next calls are about this message."""
        self._messages = [message]

    def get_message_id(self) -> MessageId:
        return self._current.message_id()

    def get_message_key(self) -> str:
        """The key; "" when there is none."""
        return self._current.partition_key()

    def get_partition_key(self) -> str:
        return self._current.partition_key()

    def get_ordering_key(self) -> str:
        return self._current.ordering_key()

    def get_message_eventtime(self) -> int:
        """Milliseconds since the epoch; 0 when not set."""
        return self._current.event_timestamp()

    def get_message_properties(self) -> dict[str, str]:
        return self._current.properties()

    def get_message_partition_index(self) -> int:
        """Of its topic; -1 where there are no partitions."""
        return self._current.message_id().partition()

    def get_message_sequence_id(self) -> int:
        """The message's place as Pulsar counts it: rises, but not within a batch."""
        message_id = self._current.message_id()
        return message_id.ledger_id() << 28 | message_id.entry_id()

    def get_current_message_topic_name(self) -> str:
        """The topic's full name, of a partition where there are partitions."""
        return self._current.topic_name()

    def get_function_tenant(self) -> str:
        return self._config.tenant

    def get_function_namespace(self) -> str:
        return self._config.namespace

    def get_function_name(self) -> str:
        return self._config.name

    def get_function_id(self) -> str:
        """``tenant/namespace/name``, which no other function has."""
        return self._config.fqfn

    def get_instance_id(self) -> int:
        return self._instance_id

    def get_function_version(self) -> str:
        """Of the code: what Pulsar has for every function that has none, "latest"."""
        return "latest"

    def get_logger(self) -> logging.Logger:
        """What it is told goes to the log topic, where there is one."""
        return self._logger

    def get_user_config_value(self, key: str) -> Any:
        return self._config.user_config.get(key)

    def get_user_config_map(self) -> Mapping[str, Any]:
        return self._config.user_config

    def get_secret(self, secret_name: str) -> str | None:
        """A secret; None when the configuration names none of that name. Raises InvalidValue."""
        secrets = self._config.secrets or {}
        return None if secret_name not in secrets else _secret(secret_name, secrets[secret_name])

    def record_metric(self, metric_name: str, metric_value: float) -> None:
        """Raises ValueError for a name too many."""
        self._metrics.record(metric_name, metric_value)

    def get_input_topics(self) -> list[str]:
        return list(self._config.input_specs)

    def get_output_topic(self) -> str:
        """Where what the function returns goes; empty when it has no output."""
        return self._config.output or ""

    def get_output_serde_class_name(self) -> str:
        return self._config.output_serde_class_name or ""

    def publish(  # noqa: PLR0917 - the signature is Pulsar's.
        self,
        topic_name: str,
        message: object,
        serde_class_name: str = IDENTITY,
        properties: Mapping[str, str] | None = None,
        compression_type: object = None,
        callback: Callable[..., object] | None = None,
        message_conf: Mapping[str, object] | None = None,
    ) -> None:
        """Send a message once the function has returned.

        ``message_conf`` has the keyword arguments of ``Producer.send``. ``callback`` is called with
        the result and the id, before the input is acknowledged. The first call for a topic says how
        it is compressed. Raises InvalidName, InvalidValue, and what the serde raises.
        """
        if compression_type is not None and not isinstance(compression_type, CompressionType):
            raise InvalidValue(f"compression_type is {compression_type!r}: use CompressionType")
        conf = dict(message_conf or {})
        if properties:
            conf["properties"] = dict(properties)
        data = self._serializer(str(serde_class_name))(message)
        if data is None:
            raise InvalidValue(f"{serde_class_name} has made nothing of the message")
        outgoing = _with_details(OutgoingMessage(bytes(data)), conf)
        topic = str(TopicName.parse(str(topic_name)))
        self.sent.append(Outgoing(topic, outgoing, compression_type, callback))

    def ack(self, msgid: object, topic: str) -> None:
        """Acknowledge a message that the function was given, once what was sent is stored.

        For functions without automatic acknowledgement. Raises NotAllowed, ValueError.
        """
        if self._config.auto_ack and self._config.processing_guarantees != "MANUAL":
            raise NotAllowed("messages are acknowledged as the guarantee says: set autoAck false")
        if not isinstance(msgid, MessageId):
            raise ValueError(f"not the id of a message: {msgid!r}")  # noqa: TRY004 - as Pulsar's.
        message = msgid._message  # noqa: SLF001 - the compat package is ours.
        if message is None:
            raise ValueError("only ids from get_message_id() can be acknowledged")
        self.acknowledged.append(message)

    def incr_counter(self, key: str, amount: int) -> None:
        self._state().increment(key, amount)

    def get_counter(self, key: str) -> int | None:
        """Its sum over all instances; None when there is none."""
        return self._state().counter(key)

    def del_counter(self, key: str) -> None:
        self._state().delete_counter(key)

    def put_state(self, key: str, value: object) -> None:
        """A value in bytes; text is written in UTF-8. Raises TypeError for anything else."""
        if isinstance(value, str):
            value = value.encode()
        if not isinstance(value, bytes | bytearray | memoryview):
            raise TypeError(f"a state is bytes or text, not {type(value).__name__}: serialize it")
        self._state().put(key, bytes(value))

    def get_state(self, key: str) -> bytes | None:
        return self._state().get(key)

    def del_state(self, key: str) -> None:
        self._state().delete(key)

    def seek(self, *_: object) -> NoReturn:
        """Not for functions: they have a subscription. Raises NotAllowed."""
        raise NotAllowed(
            "seek: a function reads what its subscription gives; move that over the admin API "
            "(resetcursor) while the function is stopped"
        )

    def pause(self, *_: object) -> NoReturn:
        """Not for functions. Raises NotAllowed."""
        raise NotAllowed("pause: a function cannot pause its inputs; stop the function")

    def resume(self, *_: object) -> NoReturn:
        """Not for functions. Raises NotAllowed."""
        raise NotAllowed("resume: a function cannot pause its inputs; start the function")

    @property
    def _current(self) -> TheirMessage:
        if len(self._messages) != 1:
            raise NotAllowed("a window has many messages: see get_messages()")
        return _theirs(self._messages[0])


class WindowContext(FunctionContext):
    """The context of a window: there is no single message, but there are those of the window."""

    start_ms: int | None = None
    end_ms: int | None = None

    def open(self, messages: list[Input], start_ms: int | None, end_ms: int | None) -> None:
        """The next calls are about this window."""
        self._messages, self.start_ms, self.end_ms = messages, start_ms, end_ms

    def get_messages(self) -> list[TheirMessage]:
        """The messages of the inputs, one for each, in the same order."""
        return [_theirs(message) for message in self._messages]

    def get_window_start(self) -> int | None:
        """Milliseconds since the epoch, exclusive; None for windows by count."""
        return self.start_ms

    def get_window_end(self) -> int | None:
        """Milliseconds since the epoch, inclusive; None for windows by count."""
        return self.end_ms

    @property
    def _current(self) -> TheirMessage:
        raise NotAllowed("a window has many messages: see get_messages()")


def _theirs(message: Input) -> TheirMessage:
    return wrapped(message, _BYTES)


def _secret(name: str, given: Any) -> str:
    """As text in the configuration, or ``{"env": NAME}``, or ``{"path": FILE}``."""
    if isinstance(given, str):
        return given
    if isinstance(given, Mapping) and isinstance(given.get("env"), str):
        found = os.environ.get(given["env"])
        if found is None:
            raise InvalidValue(f"secret {name}: the environment has no {given['env']}")
        return found
    if isinstance(given, Mapping) and isinstance(given.get("path"), str):
        try:
            return Path(given["path"]).read_text().removesuffix("\n")
        except OSError as error:
            raise InvalidValue(f"secret {name}: {error}") from error
    raise InvalidValue(f"secret {name} has to be text, or {{env: NAME}}, or {{path: FILE}}")


_DETAILS: Final = (
    "properties",
    "partition_key",
    "ordering_key",
    "event_timestamp",
    "deliver_at",
    "deliver_after",
    "replication_clusters",
    "disable_replication",
)


def _with_details(message: OutgoingMessage, conf: dict[str, Any]) -> OutgoingMessage:
    unknown = sorted(set(conf) - set(_DETAILS))
    if unknown:
        raise InvalidValue(f"message_conf: {unknown[0]} is not one of {', '.join(_DETAILS)}")
    message.properties = conf.get("properties")
    message.key = conf.get("partition_key") or None
    ordering_key = conf.get("ordering_key")
    message.ordering_key = ordering_key.encode() if ordering_key else None
    message.event_time_ms = conf.get("event_timestamp") or None
    message.deliver_at_ms = conf.get("deliver_at") or None
    after = conf.get("deliver_after")
    message.deliver_after_s = after.total_seconds() if isinstance(after, timedelta) else None
    clusters = conf.get("replication_clusters") or None
    message.replication_clusters = () if conf.get("disable_replication") else clusters
    return message
