"""Which columns of written rows are the value, and which say what a message is beside it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.types import DataType, StructType

from magnetar.errors import InvalidValue
from magnetar.spark.schema import OWN_NAMES, PULSAR_SPARK_SCHEMA, WRITE_COLUMNS, check_write


@dataclass(frozen=True)
class WrittenColumns:
    """The columns of rows whose values have a type."""

    others: Mapping[str, str]  # What a message has beside its value: the column that says it.
    fields: tuple[str, ...]  # The columns that are the value.
    value: DataType
    whole: bool  # There is one, which is the value and not a field of it.

    @staticmethod
    def of(schema: StructType, *, topic: str | None, pulsar_spark: bool) -> "WrittenColumns":
        """Raises InvalidValue for rows that cannot be messages."""
        if pulsar_spark:
            return _of_pulsar_spark(schema, topic)
        check_write(schema, topic=topic, typed=True)
        others = {name: name for name in schema.names if name in WRITE_COLUMNS and name != "value"}
        return WrittenColumns(others, ("value",), schema["value"].dataType, whole=True)

    def value_of(self, rows: pa.RecordBatch) -> pa.Array:
        """The values of some rows."""
        if self.whole:
            return rows.column(self.fields[0])
        columns = [rows.column(name) for name in self.fields]
        return pa.StructArray.from_arrays(columns, fields=[*map(rows.schema.field, self.fields)])


def _of_pulsar_spark(schema: StructType, topic: str | None) -> WrittenColumns:
    """As StreamNative's connector has them: what is not called ``__...`` is a field of the value.

    One column that is no struct is the value itself.
    """
    value = StructType([field for field in schema if field.name not in OWN_NAMES])
    if not len(value):
        raise InvalidValue(
            f"there is no column beside {', '.join(schema.names)}: the value is made of those"
        )
    others = {
        OWN_NAMES[field.name]: field
        for field in schema
        if OWN_NAMES.get(field.name) in WRITE_COLUMNS
    }
    named = StructType().add("value", "string")
    for name, field in others.items():
        named.add(name, field.dataType)
    try:
        check_write(named, topic=topic)
    except InvalidValue as error:
        names = ", ".join(name for name in PULSAR_SPARK_SCHEMA.names if name in OWN_NAMES)
        raise InvalidValue(f"{error} (with StreamNative's columns: {names})") from None
    columns = {name: field.name for name, field in others.items()}
    if len(value) == 1 and not isinstance(value[0].dataType, StructType):
        return WrittenColumns(columns, (value[0].name,), value[0].dataType, whole=True)
    return WrittenColumns(columns, tuple(value.names), value, whole=False)
