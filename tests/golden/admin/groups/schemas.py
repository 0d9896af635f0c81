"""Schemas."""

from dataclasses import dataclass

from golden.admin.groups.shared import NOT_OURS, NOT_YET, making

from magnetar.schemas.avro import AvroSchema
from magnetar.schemas.json import JsonSchema
from magnetar.schemas.primitives import StringSchema


@dataclass
class Ev:
    a: int | None = None
    b: str | None = None


async def clients(world):
    """Three clients that brought schemas; the first has sent a message."""
    where = "persistent://golden/schema/client"
    avro = await world.client.create_producer(f"{where}-avro", schema=AvroSchema(Ev))
    await avro.send(Ev(1, "x"))
    await world.client.create_producer(f"{where}-json", schema=JsonSchema(Ev))
    world.kept[where] = await world.client.create_producer(f"{where}-string", schema=StringSchema())


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
    "get_client_avro": NOT_YET,
    "get_client_json": NOT_YET,
    "get_client_string": NOT_YET,
    "peek_schema_version": NOT_YET,
    "internalStats_schemaLedgers": NOT_YET,
}
