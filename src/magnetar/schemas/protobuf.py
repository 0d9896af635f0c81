"""Messages of protobuf: the one place of the client that knows the library.

The definition is a set of file descriptors, as Java's client writes it (``wire/file_descriptors``).
"""

import base64
import json
from collections.abc import Iterator
from typing import Any, TypeVar, cast

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from magnetar.errors import InvalidSchema, InvalidValue, UndecodableValue
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.wire.file_descriptors import root_message

from .schema import Schema

M = TypeVar("M", bound=Message)


class ProtobufNativeSchema(Schema[M]):
    """Messages of a generated class, in protobuf's binary form."""

    info: SchemaInfo

    def __init__(self, message: type[M]) -> None:
        """Raises InvalidValue for a class that protobuf has not generated."""
        if not (isinstance(message, type) and issubclass(message, Message)):
            raise InvalidValue(
                f"{message!r} is no class of messages: give one that protoc generated"
            )
        self._message = message
        self.info = SchemaInfo(SchemaType.PROTOBUF_NATIVE, _definition(message))

    def __repr__(self) -> str:
        return f"ProtobufNativeSchema({self._message.__name__})"

    def made(self) -> M:
        """An empty message."""
        return self._message()

    def encode(self, value: M) -> bytes:
        if not isinstance(value, self._message):
            raise InvalidValue(
                f"a value must be {self._message.__name__}, not {type(value).__name__}: make one"
            )
        try:
            return value.SerializeToString()
        except (EncodeError, ValueError) as error:
            raise InvalidValue(f"{self._message.__name__}: {error}") from None

    def decode(self, data: bytes) -> M:
        try:
            return self._message.FromString(data)
        except (DecodeError, ValueError) as error:
            raise UndecodableValue(
                f"{len(data)} bytes that are no {self._message.__name__}: {error}"
            ) from None


def of_topic(schema: SchemaInfo) -> ProtobufNativeSchema[Any]:
    """A schema with a class made of the topic's definition. Raises UndecodableValue."""
    try:
        name = root_message(schema.data).name
        files = FileDescriptorSet.FromString(
            base64.b64decode(json.loads(schema.data)["fileDescriptorSet"])
        )
        pool = DescriptorPool()
        for file in files.file:
            pool.Add(file)
        made = GetMessageClass(pool.FindMessageTypeByName(name))
    except (InvalidSchema, TypeError, KeyError) as error:
        raise UndecodableValue(f"the schema that it was written with: {error}") from None
    return ProtobufNativeSchema(made)


def plain_of(message: Message) -> Any:
    """A message as JSON has it, with the names of its fields as they were declared."""
    return MessageToDict(message, preserving_proto_field_name=True)


def of_plain(schema: ProtobufNativeSchema[Any], value: Any) -> bytes:
    """The payload of what JSON has. Raises InvalidValue."""
    if not isinstance(value, dict):
        raise InvalidValue(f"a message of protobuf is an object, not {type(value).__name__}")
    try:
        return schema.encode(ParseDict(value, schema.made()))
    except ParseError as error:
        raise InvalidValue(f"the value does not fit its schema: {error}") from None


def _definition(message: type[Message]) -> bytes:
    file = cast("FileDescriptor", message.DESCRIPTOR.file)
    files = FileDescriptorSet(file=_with_imports(file, set()))
    return json.dumps(
        {
            "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
            "rootMessageTypeName": message.DESCRIPTOR.full_name,
            "rootFileDescriptorName": file.name,
        }
    ).encode()


def _with_imports(file: FileDescriptor, seen: set[str]) -> Iterator[FileDescriptorProto]:
    """A file behind all that it imports, each once."""
    if file.name in seen:
        return
    seen.add(file.name)
    for imported in file.dependencies:
        yield from _with_imports(imported, seen)
    found = FileDescriptorProto()
    file.CopyToProto(found)
    yield found
