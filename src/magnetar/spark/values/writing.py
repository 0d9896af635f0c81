"""Writes typed values by the schemas of their topics, which are asked for once in a task."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyspark.sql.types import BinaryType, DataType, StringType, StructType

from magnetar.client.consumers.dead_letter_policy import PassedOn
from magnetar.errors import IncompatibleSchema, InvalidValue
from magnetar.model.names import TopicName
from magnetar.model.schemas import AVRO_DEFINED, SchemaInfo, SchemaType
from magnetar.schemas.schema import Schema
from magnetar.spark.connections import client_for
from magnetar.spark.values.arrays import binary_array
from magnetar.spark.values.columns import WrittenColumns
from magnetar.spark.values.definitions import derived
from magnetar.spark.values.encoding import Encode, differences, encoder
from magnetar.spark.values.evolution import evolved
from magnetar.spark.values.options import REGISTRY
from magnetar.spark.values.plan import schema_of
from magnetar.spark.values.types import value_type
from magnetar.spark.write_options import WriteOptions


class TypedValues:
    """A step before rows become messages: their values, encoded, are a column in binary.

    Made once, and pickled with the writer; what it learns of topics stays in the task.
    """

    def __init__(self, options: WriteOptions, schema: StructType) -> None:
        """Raises InvalidValue for rows that cannot be messages, or have no such schema."""
        self._options = options
        self._columns = WrittenColumns.of(
            schema, topic=options.topic, pulsar_spark=options.pulsar_spark_columns
        )
        self._schemas: dict[str, SchemaInfo] = {}
        self._encoders: dict[str, Encode] = {}
        if options.schema != REGISTRY:
            _encode_as(self._wanted(), self._columns.value)

    def schema_of(self, topic: str) -> Schema[bytes] | None:
        """The schema that a topic, or a partition, is told that its values have."""
        schema = self._schema(topic)
        return None if schema.type is SchemaType.NONE else PassedOn(schema)

    def encode(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows as columns of messages. Raises InvalidValue, which names the field."""
        made = {name: rows.column(own) for name, own in self._columns.others.items()}
        made["value"] = self._columns.value_of(rows)
        picked: dict[str, Sequence[int]] = {}
        if self._options.topic is not None:
            picked[self._options.topic] = range(rows.num_rows)
        else:
            by_topic: dict[str | None, list[int]] = defaultdict(list)
            for row, name in enumerate(made["topic"].to_pylist()):
                by_topic[name].append(row)
            # Who needs the topic says which row has none.
            picked = {name: found for name, found in by_topic.items() if name is not None}
        if not all(_stays(self._schema(topic), self._columns.value) for topic in picked):
            self._encode_values(made, picked)
        return pa.RecordBatch.from_arrays(list(made.values()), names=list(made))

    def explained(self, refused: IncompatibleSchema) -> IncompatibleSchema:
        """The broker's refusal of a schema, and how it differs from the topic's."""
        for topic, schema in self._schemas.items():
            latest = schema_of(client_for(self._options), topic)
            try:
                found = list(differences(value_type(latest).spark, value_type(schema).spark))
            except InvalidValue as error:
                found = [str(error)]
            if latest.type is not schema.type:
                found = [f"its type is {latest.type.name}, and {schema.type.name} that of the rows"]
            if found:
                return IncompatibleSchema(
                    f"{topic} has another schema: {'; '.join(found):.1000}. Set schema=registry to "
                    f"write by the topic's ({' '.join(str(refused).split()):.1000})"
                )
        topics = ", ".join(self._schemas)
        return IncompatibleSchema(f"{topics}: {' '.join(str(refused).split()):.2000}")

    def _encode_values(
        self, made: dict[str, pa.Array], picked: Mapping[str, Sequence[int]]
    ) -> None:
        """Replace the column of values, and make one of keys where these travel apart."""
        values = made["value"].to_pylist()
        payloads: list[bytes | None] = [b""] * len(values)
        keys: list[bytes | None] | None = None
        for topic, rows in picked.items():
            try:
                found = self._encoder(topic)([values[row] for row in rows])
            except InvalidValue as error:
                raise InvalidValue(f"{topic}: {error}") from None
            for row, payload in zip(rows, found.payloads, strict=True):
                payloads[row] = payload
            if found.keys is not None:
                if "key" in made:
                    raise InvalidValue(
                        f"{topic} has keys and values apart: leave the column of keys out, they "
                        "come from value.key"
                    )
                keys = keys or [None] * len(values)
                for row, key in zip(rows, found.keys, strict=True):
                    keys[row] = key
        made["value"] = binary_array(payloads)
        if keys is not None:
            made["key"] = binary_array(keys)

    def _encoder(self, topic: str) -> Encode:
        if topic not in self._encoders:
            self._encoders[topic] = _encode_as(self._schema(topic), self._columns.value)
        return self._encoders[topic]

    def _schema(self, topic: str) -> SchemaInfo:
        name = str(TopicName.parse(topic).partitioned_name)
        if name not in self._schemas:
            self._schemas[name] = self._for_topic(name)
        return self._schemas[name]

    def _for_topic(self, name: str) -> SchemaInfo:
        if self._options.schema == REGISTRY:
            found = schema_of(client_for(self._options), name)
            return self._wanted() if found.type is SchemaType.NONE else found
        wanted = self._wanted()
        if wanted.type in AVRO_DEFINED:
            found = schema_of(client_for(self._options), name)
            if found.type is wanted.type:
                return evolved(self._columns.value, found)
        return wanted

    def _wanted(self) -> SchemaInfo:
        wanted = self._options.schema
        return derived(
            self._columns.value, None if wanted == REGISTRY else SchemaType[wanted.upper()]
        )


def _encode_as(schema: SchemaInfo, value: DataType) -> Encode:
    """As ``encoder``; bytes and text may stay what they are."""
    if _stays(schema, value):
        return encoder(derived(value), value)
    return encoder(schema, value)


def _stays(schema: SchemaInfo, value: DataType) -> bool:
    """Whether payloads are in the column already: bytes without a schema, or text."""
    if schema.type is SchemaType.NONE:
        return isinstance(value, BinaryType | StringType)
    return schema.type is SchemaType.STRING and isinstance(value, StringType)
