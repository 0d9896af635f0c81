"""Protocol buffers, in their own encoding."""

import base64
from typing import TYPE_CHECKING, Any

from magnetar.compat.enums import SchemaType

from .schema import Schema

if TYPE_CHECKING:
    from google.protobuf.descriptor import FileDescriptor
    from google.protobuf.descriptor_pb2 import FileDescriptorSet


class ProtobufNativeSchema(Schema):
    """Messages of a class that protoc made."""

    def __init__(self, record_cls: Any) -> None:
        """Raises TypeError for a class that is no protobuf message."""
        from google.protobuf.message import Message  # noqa: PLC0415 - only who uses it pays for it.

        if not (isinstance(record_cls, type) and issubclass(record_cls, Message)):
            raise TypeError(f"record_cls must be a protobuf Message subclass, got {record_cls!r}")
        super().__init__(
            record_cls,
            SchemaType.PROTOBUF_NATIVE,
            _definition(record_cls.DESCRIPTOR),
            "PROTOBUF_NATIVE",
        )

    def encode(self, obj: Any) -> bytes | None:
        self._validate_object_type(obj)
        encoded: bytes = obj.SerializeToString()
        return encoded

    def decode(self, data: bytes) -> Any:
        return self._record_cls.FromString(data)

    def __str__(self) -> str:
        return f"ProtobufNativeSchema({self._record_cls.__name__})"


def _definition(descriptor: Any) -> dict[str, str]:
    """What Java's ``ProtobufNativeSchemaData`` has: the files, and which message is meant."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet  # noqa: PLC0415 - only who uses it pays for it.

    files = FileDescriptorSet()
    _collect(descriptor.file, set(), files)
    return {
        "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
        "rootMessageTypeName": descriptor.full_name,
        "rootFileDescriptorName": descriptor.file.name,
    }


def _collect(file: "FileDescriptor", seen: set[str], files: "FileDescriptorSet") -> None:
    """Add a file behind those that it imports."""
    if file.name in seen:
        return
    for imported in file.dependencies:
        _collect(imported, seen, files)
    seen.add(file.name)
    file.CopyToProto(files.file.add())
