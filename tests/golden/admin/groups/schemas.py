"""Schemas."""

from golden.admin.groups.shared import NOT_OURS, making

from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.primitives import StringSchema

EV = {
    "type": "record",
    "name": "Ev",
    "fields": [{"name": "a", "type": ["null", "int"]}, {"name": "b", "type": ["null", "string"]}],
}


async def clients(world):
    """Three clients that brought schemas; the first has sent a message."""
    where = "persistent://golden/schema/client"
    text = StringSchema()
    text.info = SchemaInfo(SchemaType.STRING, b"null")  # As Pulsar's C++ client writes it.
    avro = AvroSchema.from_definition(EV)
    producer = await world.client.create_producer(f"{where}-avro", schema=avro, batching=False)
    await producer.send({"a": 1, "b": "x"})
    await world.client.create_producer(f"{where}-json", schema=JsonSchema.from_definition(EV))
    world.kept[where] = await world.client.create_producer(f"{where}-string", schema=text)


def strategy(word, *, auto_update=True):
    where = "namespaces/golden/schema"
    return making(
        ("PUT", f"{where}/schemaCompatibilityStrategy", word),
        ("POST", f"{where}/isAllowAutoUpdateSchema", auto_update),
    )


BEFORE = {
    "get_none": making(("PUT", "namespaces/golden/schema", None)),
    "get_client_avro": clients,
    "post_partitioned": making(("PUT", "persistent/golden/schema/part/partitions", 2)),
    "always_incompatible": strategy("ALWAYS_INCOMPATIBLE"),
    "always_compatible": strategy("ALWAYS_COMPATIBLE"),
    "no_auto_update": strategy("ALWAYS_COMPATIBLE", auto_update=False),
}
DIFFERENCES = {
    "get_vtext": NOT_OURS,
    "compat_no": NOT_OURS,
    "compat_invalid": NOT_OURS,
    "post_unknown_type": NOT_OURS,
    "post_no_body": NOT_OURS,
    "post_empty_object": NOT_OURS,
    "post_null_schema": NOT_OURS,
    "internalStats_schemaLedgers": "schemas are records, in no ledger",
}
