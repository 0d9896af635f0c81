"""The versions of a topic's schema, as Pulsar's locator of them, and the entry of each. Pure."""

from hashlib import sha256

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.proto import Schemas_pb2 as proto
from magnetar.storage.codec.pulsar.message import parse, parse_entry


@dataclass(frozen=True, slots=True)
class SchemaPlace:
    """A version of a schema, and the entry that it is in."""

    number: int
    ledger_id: int
    entry_id: int
    hash: bytes


def hash_of(schema: SchemaInfo) -> bytes:
    """Return what brokers of Pulsar's compare definitions by."""
    return sha256(schema.data).digest()


def encode_locator(places: list[SchemaPlace]) -> bytes:
    """Encode the record of a schema with at least one version, the latest last."""
    index = list(map(_indexed, places))
    return proto.SchemaLocator(info=index[-1], index=index).SerializeToString()


def decode_locator(value: bytes, *, source: str) -> list[SchemaPlace]:
    """Decode the record of a schema, the latest version last. Raises CorruptEntry."""
    try:
        message = parse(proto.SchemaLocator, value)
    except InvalidValue as error:
        raise CorruptEntry(
            f"The schemas at {source} cannot be read ({error}): restore the record, or delete it "
            "and let a producer bring the schema again"
        ) from error
    return sorted(
        (
            SchemaPlace(each.version, each.position.ledgerId, each.position.entryId, each.hash)
            for each in message.index
        ),
        key=lambda each: each.number,
    )


def encode_version(schema: SchemaInfo, name: str, before: list[SchemaPlace]) -> bytes:
    """Encode the entry of the version that follows ``before`` of the schema ``name``."""
    info = proto.SchemaInfo(
        schema_id=name,
        user="",
        type=schema.type + 1,
        schema=schema.data,
        timestamp=schema.timestamp_ms,
        deleted=schema.deleted,
        props=[
            proto.SchemaInfo.KeyValuePair(key=key, value=value)
            for key, value in schema.properties.items()
        ],
    )
    nowhere = SchemaPlace(0, -1, -1, hash_of(schema))
    return proto.SchemaEntry(
        schema_data=info.SerializeToString(), index=map(_indexed, before or [nowhere])
    ).SerializeToString()


def decode_version(entry: bytes, *, source: str) -> SchemaInfo:
    """Decode the entry of a version. Raises CorruptEntry."""
    try:
        info = parse_entry(proto.SchemaInfo, parse_entry(proto.SchemaEntry, entry).schema_data)
        return SchemaInfo(
            SchemaType(info.type - 1),
            info.schema,
            {each.key: each.value for each in info.props},
            info.timestamp,
            info.deleted,
        )
    except ValueError as error:  # Also for a type that nobody knows.
        raise CorruptEntry(
            f"The schema in {source} cannot be read ({error}): delete the schema of the topic, and "
            "let a producer bring it again"
        ) from error


def _indexed(place: SchemaPlace) -> proto.IndexEntry:
    return proto.IndexEntry(
        version=place.number,
        position=proto.PositionInfo(ledgerId=place.ledger_id, entryId=place.entry_id),
        hash=place.hash,
    )
