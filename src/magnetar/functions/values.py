"""What a function gets and returns, to bytes and back: by serdes, or by schemas.

Without either Pulsar's ``IdentitySerDe`` does it: a number where the text is one, else text, else
bytes; and what a function returns as text.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from magnetar import schemas
from magnetar.client.consumers.dead_letter_policy import PassedOn
from magnetar.client.message import Message
from magnetar.compat.message import Unreceived
from magnetar.compat.schema.definition import RecordMeta
from magnetar.compat.schema.registered import registered
from magnetar.compat.schema.schema import JsonSchema as TheirJson
from magnetar.compat.schema.schema import Schema as TheirSchema
from magnetar.compat.schema.schema_avro import AvroSchema as TheirAvro
from magnetar.errors import InvalidValue
from magnetar.functions.config import ConsumerConfig, FunctionConfig
from magnetar.functions.loading import UserCode
from magnetar.model.names import TopicName
from magnetar.schemas.auto import AutoConsumeSchema
from magnetar.schemas.schema import Schema

Input = Message[Any] | Unreceived
Decode = Callable[[Input], Any]
IDENTITY: Final = "serde.IdentitySerDe"

_PRIMITIVES: Final[Mapping[str, type[Schema[Any]]]] = {
    "bytes": schemas.BytesSchema,
    "none": schemas.BytesSchema,
    "string": schemas.StringSchema,
    "boolean": schemas.BooleanSchema,
    "int8": schemas.Int8Schema,
    "int16": schemas.Int16Schema,
    "int32": schemas.Int32Schema,
    "int64": schemas.Int64Schema,
    "float": schemas.FloatSchema,
    "double": schemas.DoubleSchema,
    "date": schemas.DateSchema,
    "time": schemas.TimeSchema,
    "timestamp": schemas.TimestampSchema,
}
_REGISTERED: Final = ("avro", "json", "auto_consume", "key_value", "protobuf_native")


class Serializer(Protocol):
    """What encodes, of a serde or of a schema."""

    def __call__(self, value: Any, /) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class OutputCodec:
    """How what a function returns is written."""

    encode: Serializer
    schema: Schema[bytes] | None  # What the topic is told; None: nothing.


class Values:
    """The codecs of one function. Raises InvalidValue for what its code does not have."""

    def __init__(self, config: FunctionConfig, code: UserCode) -> None:
        self._code = code
        self._serdes: dict[str, Any] = {}
        self._record = config.input_type_class_name
        self._decoders: dict[str, Decode] = {}
        self.consumer_schema: Schema[Any] | None = None
        self._inputs = {
            str(TopicName.parse(topic)): (topic, spec.is_regex_pattern, self._input(spec))
            for topic, spec in config.input_specs.items()
        }
        self.output = self._output(config)

    def decoder(self, topic: str) -> Decode:
        """What decodes the messages of a topic, by its full name."""
        return self._input_for(topic)[2]

    def input_of(self, topic: str) -> str:
        """The input that a topic belongs to, as the configuration names it."""
        return self._input_for(topic)[0]

    def _input_for(self, topic: str) -> tuple[str, bool, Decode]:
        name = str(TopicName.parse(topic).partitioned_name)
        found = self._inputs.get(name)
        if found is not None and not found[1]:
            return found
        for expression, given in self._inputs.items():
            if given[1] and re.fullmatch(expression, name):
                return given
        raise InvalidValue(f"{topic} is none of the inputs {', '.join(self._inputs)}")

    def serializer(self, name: str) -> Serializer:
        """Make a serde by its name, for ``publish``."""
        return self._serde(name).serialize  # type: ignore[no-any-return]  # The user's class.

    def _serde(self, name: str) -> Any:
        if name not in self._serdes:
            self._serdes[name] = _instance(self._code.find(name))
        return self._serdes[name]

    def _input(self, spec: ConsumerConfig) -> Decode:
        name = spec.schema_type or spec.serde_class_name or IDENTITY
        if name not in self._decoders:
            self._decoders[name] = (
                self._by_schema(name)
                if spec.schema_type
                else _decoding(self._serde(name).deserialize)
            )
        return self._decoders[name]

    def _by_schema(self, kind: str) -> Decode:
        name = kind.lower()
        if name in _PRIMITIVES:
            return _decoding(_PRIMITIVES[name]().decode)
        if name not in _REGISTERED:
            return _decoding(_instance(self._code.find(kind)).decode)
        schema = self._of_record(name, self._record)
        if schema is None or schema.told is None or not schema.told.evolves:
            self.consumer_schema = self.consumer_schema or AutoConsumeSchema()
        elif self.consumer_schema is None:
            self.consumer_schema = schema.told
        else:
            raise InvalidValue(
                f"inputs of {kind} with a class beside others with schemas: give one"
            )
        if schema is None:
            return _json_value if name == "json" else _value
        return _decoding(schema.decode) if name == "json" else _value

    def _output(self, config: FunctionConfig) -> OutputCodec:
        kind = config.output_schema_type
        if not kind:
            return OutputCodec(self.serializer(config.output_serde_class_name or IDENTITY), None)
        name = kind.lower()
        if name in _PRIMITIVES:
            schema = _PRIMITIVES[name]()
            return OutputCodec(schema.encode, _told(schema))
        if name not in _REGISTERED:
            own = _own(_instance(self._code.find(kind)))
            return OutputCodec(own.encode, _told(own.told))
        record = self._of_record(name, config.output_type_class_name)
        if record is not None:
            return OutputCodec(record.encode, _told(record.told))
        if name == "json":
            return OutputCodec(_to_json, None)
        raise InvalidValue(
            f"outputSchemaType is {kind}, which does not say what the records have: name their "
            "class as outputTypeClassName, or a schema of your code as outputSchemaType"
        )

    def _of_record(self, kind: str, class_name: str | None) -> "_OwnSchema | None":
        """The schema of a class of the user's: a Record of ``pulsar.schema``, or a dataclass."""
        if not class_name or kind not in ("avro", "json"):
            return None
        record = self._code.find(class_name)
        if isinstance(record, RecordMeta):
            return _own(TheirAvro(record) if kind == "avro" else TheirJson(record))
        return _own(schemas.AvroSchema(record) if kind == "avro" else schemas.JsonSchema(record))


class _OwnSchema(NamedTuple):
    """A schema of the user's."""

    encode: Serializer
    decode: Callable[[bytes], Any]
    told: Schema[Any] | None  # As our client takes it; None for bytes.


def _own(found: Any) -> _OwnSchema:
    told = registered(found) if isinstance(found, TheirSchema) else found
    return _OwnSchema(found.encode, found.decode, told)


def _told(schema: Schema[Any] | None) -> Schema[bytes] | None:
    return None if schema is None or schema.info is None else PassedOn(schema.info)


def _instance(found: Any) -> Any:
    return found() if isinstance(found, type) else found


def _decoding(decode: Callable[[bytes], Any]) -> Decode:
    return lambda message: decode(message.data)


def _value(message: Input) -> Any:
    return message.value if isinstance(message, Message) else message.data


def _json_value(message: Input) -> Any:
    value = _value(message)
    return json.loads(value) if isinstance(value, bytes) else value


def _to_json(value: Any) -> bytes:
    return json.dumps(value).encode()
