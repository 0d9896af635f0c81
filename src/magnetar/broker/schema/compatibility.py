"""Whether a new schema may stand beside those that a topic has. Pure."""

import json
from collections.abc import Iterator, Sequence

from magnetar.broker.schema.definitions import avro_definition, is_json_schema
from magnetar.errors import IncompatibleSchema
from magnetar.model.key_value_schemas import halves
from magnetar.model.schemas import (
    SchemaCompatibilityStrategy,
    SchemaInfo,
    SchemaType,
    SchemaVersion,
)
from magnetar.wire.file_descriptors import root_message


def check_compatible(
    new: SchemaInfo,
    existing: Sequence[SchemaVersion],
    strategy: SchemaCompatibilityStrategy,
) -> None:
    """Raise IncompatibleSchema, naming what clashes. ``existing``: the latest is the last.

    A transitive strategy compares with all of them, the others with the latest.
    """
    if strategy is SchemaCompatibilityStrategy.ALWAYS_COMPATIBLE:
        return
    for old in existing if strategy.transitive else existing[-1:]:
        if old.schema.type is not new.type:
            raise IncompatibleSchema(
                f"Incompatible schema: exists schema type {old.schema.type.name}, "
                f"new schema type {new.type.name}"
            )
        found = [*_clashes(new, old, strategy)]
        if found:
            raise IncompatibleSchema(
                f"Error during schema compatibility check with strategy {strategy}: "
                f"{'; '.join(found)}"
            )


def _clashes(
    new: SchemaInfo, old: SchemaVersion, strategy: SchemaCompatibilityStrategy
) -> Iterator[str]:
    """Sentences on what of two schemas of one type clashes."""
    number = old.number
    if strategy is SchemaCompatibilityStrategy.ALWAYS_INCOMPATIBLE:
        yield f"no schema but that of version {number} is taken"
    elif new.type is SchemaType.KEY_VALUE:
        yield from _clashes_of_halves(new, old, strategy)
    elif new.type is SchemaType.PROTOBUF_NATIVE:
        yield from _clashes_of_messages(new, old)
    elif new.type is SchemaType.AVRO or new.type is SchemaType.JSON:
        if is_json_schema(new.data) or is_json_schema(old.schema.data):
            yield from _clashes_of_json_schemas(new, old)
            return
        parse = avro_definition().parse
        ours, theirs = parse(new.data), parse(old.schema.data)
        if strategy.new_reads_old:
            found = "; ".join(ours.unreadable(theirs))
            if found:
                yield f"the new schema cannot read the data of version {number}: {found}"
        if strategy.old_reads_new:
            found = "; ".join(theirs.unreadable(ours))
            if found:
                yield f"version {number} cannot read the data of the new schema: {found}"


def _clashes_of_halves(
    new: SchemaInfo, old: SchemaVersion, strategy: SchemaCompatibilityStrategy
) -> Iterator[str]:
    for which, ours, theirs in zip(("key", "value"), halves(new), halves(old.schema), strict=True):
        if ours.type is not theirs.type:
            yield f"the {which} is {ours.type.name}, and {theirs.type.name} in version {old.number}"
        else:
            for clash in _clashes(ours, SchemaVersion(old.number, theirs), strategy):
                yield f"of the {which}, {clash}"


def _clashes_of_messages(new: SchemaInfo, old: SchemaVersion) -> Iterator[str]:
    """Protobuf skips unknown fields and fills in missing ones: numbers must keep their meaning."""
    ours, theirs = root_message(new.data), root_message(old.schema.data)
    if ours.name != theirs.name:
        yield f"the message is {ours.name}, and {theirs.name} in version {old.number}"
        return
    for place in sorted(ours.fields.keys() & theirs.fields.keys()):
        one, other = ours.fields[place], theirs.fields[place]
        if one.encoding != other.encoding:
            yield (
                f"field {one.name} (number {place[1]} of {place[0]}) is {one.kind}, and "
                f"{other.kind} {other.name} in version {old.number}"
            )


def _clashes_of_json_schemas(new: SchemaInfo, old: SchemaVersion) -> Iterator[str]:
    """Definitions by JSON Schema, of old clients, cannot be compared: only their ids are."""
    if is_json_schema(new.data) and is_json_schema(old.schema.data):
        ours, theirs = (json.loads(each).get("id") for each in (new.data, old.schema.data))
        if ours != theirs:
            yield f"its id is {ours}, and {theirs} in version {old.number}"
