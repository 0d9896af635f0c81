"""Schemas for tests."""

import base64
import json

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from magnetar.model.schemas import SchemaInfo, SchemaType


def record(*fields, name="R", namespace="shop", **more):
    """An Avro record; a field is ``("a", "int")``, with its default and its aliases if need be."""
    keys = ("name", "type", "default", "aliases")
    made = [dict(zip(keys, field, strict=False)) for field in fields]
    value = {"type": "record", "name": name, "namespace": namespace, "fields": made, **more}
    return json.dumps(value).encode()


def avro(*fields, kind=SchemaType.AVRO, **more):
    return SchemaInfo(kind, record(*fields, **more))


OPTIONAL = ["null", "string"]
A = avro(("a", "int"))
AB = avro(("a", "int"), ("b", OPTIONAL, None))
A_TEXT = avro(("a", "string"))
AC = avro(("a", "int"), ("c", "string"))


def native(*fields, message="Order", package="shop"):
    """A PROTOBUF_NATIVE schema; a field is ``(name, number, type)``."""
    files = FileDescriptorSet()
    file = files.file.add(name="shop.proto", package=package)
    made = file.message_type.add(name=message)
    for name, number, kind in fields:
        made.field.add(name=name, number=number, type=FieldDescriptorProto.Type.Value(kind))
    value = {
        "fileDescriptorSet": base64.b64encode(files.SerializeToString()).decode(),
        "rootMessageTypeName": f"{package}.{message}",
        "rootFileDescriptorName": "shop.proto",
    }
    return SchemaInfo(SchemaType.PROTOBUF_NATIVE, json.dumps(value).encode())


def key_value(key, value, encoding="INLINE"):
    parts = b"".join(len(each.data).to_bytes(4, "big") + each.data for each in (key, value))
    properties = {
        "key.schema.name": "k",
        "key.schema.type": key.type.name,
        "value.schema.name": "v",
        "value.schema.type": value.type.name,
        "kv.encoding.type": encoding,
    }
    return SchemaInfo(SchemaType.KEY_VALUE, parts, properties)
