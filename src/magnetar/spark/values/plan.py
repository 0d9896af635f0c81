"""What the values of a query are: by the schema that its topics have when it is planned."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql.types import StructType

from magnetar.client import blocking
from magnetar.errors import InvalidValue, SchemaNotFound
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.spark import topics
from magnetar.spark.connections import client_for
from magnetar.spark.read_options import PULSAR_SPARK, ReadOptions
from magnetar.spark.schema import OWN_NAMES, with_values
from magnetar.spark.values.types import ValueType, value_type

UNKNOWN = SchemaInfo(SchemaType.NONE)
"""The schema of a topic that has none: values are bytes."""


@dataclass(frozen=True)
class ValuePlan:
    """What values are read as. It is pickled with who reads them."""

    schema: SchemaInfo
    kind: ValueType
    columns: StructType  # All that a query may ask for.
    top_level: bool  # Fields of a struct are columns of their own.
    own_names: Mapping[str, str] = field(default_factory=lambda: OWN_NAMES)

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
        top_level = options.columns == PULSAR_SPARK
        struct = isinstance(kind.spark, StructType)
        columns = with_values(
            options.offered,
            kind.spark,
            top_level=top_level,
            corrupt=options.values.corrupt_column,
        )
        return ValuePlan(schema, kind, columns, top_level and struct, options.own_names)


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
