"""Protobuf's own descriptions of messages, as schemas of type PROTOBUF_NATIVE carry them. Pure.

{"fileDescriptorSet": "<base64>", "rootMessageTypeName": "shop.Order",
 "rootFileDescriptorName": "shop.proto"}
"""

import base64
import json
from collections.abc import Iterator
from typing import Final, NamedTuple

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorSet
from google.protobuf.message import DecodeError

from magnetar.errors import InvalidSchema

_KEYS: Final = ("fileDescriptorSet", "rootMessageTypeName")


_VARINT: Final = "a number of variable length"
_ENCODINGS: Final = {
    **dict.fromkeys(("INT32", "INT64", "UINT32", "UINT64", "BOOL", "ENUM"), _VARINT),
    **dict.fromkeys(("SINT32", "SINT64"), "a signed number of variable length"),
    **dict.fromkeys(("FIXED32", "SFIXED32"), "a number of 4 bytes"),
    **dict.fromkeys(("FIXED64", "SFIXED64"), "a number of 8 bytes"),
    **dict.fromkeys(("STRING", "BYTES"), "text or bytes"),
}


class Encoded(NamedTuple):
    """A field: its name, its type, and how its type is encoded (those of one kind go together)."""

    name: str
    kind: str
    encoding: str


class Root(NamedTuple):
    """The message that a topic has, and the fields below it, by message and number."""

    name: str
    fields: dict[tuple[str, int], Encoded]


def root_message(data: bytes) -> Root:
    """Raises InvalidSchema."""
    try:
        sent = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _invalid(str(error)) from None
    if not isinstance(sent, dict) or not all(isinstance(sent.get(key), str) for key in _KEYS):
        raise _invalid(f"a JSON object with {' and '.join(_KEYS)} was expected")
    try:
        files = FileDescriptorSet.FromString(base64.b64decode(sent["fileDescriptorSet"]))
    except (ValueError, DecodeError) as error:
        raise _invalid(str(error)) from None
    name = sent["rootMessageTypeName"].removeprefix(".")
    known = dict(_messages(files))
    if name not in known:
        raise _invalid(f"there is no message {name}, but {', '.join(sorted(known)) or 'none'}")
    return Root(name, dict(_fields(name, known)))


def _invalid(why: str) -> InvalidSchema:
    return InvalidSchema(f"deserialize ProtobufNative Schema failed: {why[:500]}")


def _messages(files: FileDescriptorSet) -> Iterator[tuple[str, DescriptorProto]]:
    """Every message, nested ones too, by its full name."""
    for file in files.file:
        waiting = [(file.package, message) for message in file.message_type]
        while waiting:
            scope, message = waiting.pop()
            name = f"{scope}.{message.name}" if scope else message.name
            yield name, message
            waiting += [(name, nested) for nested in message.nested_type]


def _fields(
    root: str, known: dict[str, DescriptorProto]
) -> Iterator[tuple[tuple[str, int], Encoded]]:
    """The fields of a message and of all that it holds."""
    seen, waiting = {root}, [root]
    while waiting:
        name = waiting.pop()
        for field in known[name].field:
            kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_")
            place = name, field.number
            yield place, Encoded(field.name, kind.lower(), _ENCODINGS.get(kind, kind.lower()))
            held = field.type_name.removeprefix(".")
            if held in known and held not in seen:
                seen.add(held)
                waiting.append(held)
