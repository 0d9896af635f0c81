"""What the values of a query are: by the schema that its topics have when it is planned."""

from dataclasses import dataclass

from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.errors import InvalidValue, SchemaNotFound
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.spark import topics
from magnetar.spark.connections import client_for
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.schema import PULSAR_SPARK_SCHEMA, READ_SCHEMA, with_values
from magnetar.spark.values.types import ValueType, value_type

UNKNOWN = SchemaInfo(SchemaType.NONE)
"""Of a topic without a schema: values are bytes."""


@dataclass(frozen=True)
class ValuePlan:
    """What values are read as. It is pickled with who reads them."""

    schema: SchemaInfo
    kind: ValueType
    columns: StructType  # All that a query may ask for.
    top_level: bool  # Fields of a struct are columns of their own.

    @staticmethod
    def of(options: ReadOptions) -> "ValuePlan":
        """Ask the registry. Raises InvalidValue where topics have different types of values.

        Raises TopicNotFound for a topic that does not exist.
        """
        client = client_for(options)
        names = {
            str(TopicName.parse(name).partitioned_name)
            for name in topics.partitions(client, options)
        }
        if not names:
            raise InvalidValue(
                "no topic matches the option topicsPattern yet, so that there is no schema to tell "
                "the columns: create one, or set schema=none"
            )
        first, *others = sorted(names)
        schema = schema_of(client, first)
        kind = _typed(first, schema)
        for name in others:
            if _typed(name, schema_of(client, name)).spark != kind.spark:
                raise InvalidValue(
                    f"{first} and {name} have values of different types: read each by itself, or "
                    "set schema=none"
                )
        struct = isinstance(kind.spark, StructType)
        columns = with_values(
            PULSAR_SPARK_SCHEMA if options.pulsar_spark_columns else READ_SCHEMA,
            kind.spark,
            top_level=options.pulsar_spark_columns,
            corrupt=options.values.corrupt_column,
        )
        return ValuePlan(schema, kind, columns, options.pulsar_spark_columns and struct)


def schema_of(client: blocking.Client, topic: str, version: int | None = None) -> SchemaInfo:
    """One version of a topic's schema, or the latest; ``UNKNOWN`` where there is none."""
    try:
        return client.schema(topic, version)
    except SchemaNotFound:
        if version is not None:
            raise
        return UNKNOWN


def _typed(topic: str, schema: SchemaInfo) -> ValueType:
    try:
        return value_type(schema)
    except InvalidValue as error:
        raise InvalidValue(f"{topic}: {error}") from None
