"""The columns of a message in Spark: the same for batch reads and for streams. Pure."""

from pyspark.sql import types as t

from magnetar.errors import InvalidValue

MESSAGE_ID = t.StructType(
    [
        t.StructField("ledger_id", t.LongType()),
        t.StructField("entry_id", t.LongType()),
        t.StructField("batch_index", t.IntegerType()),
        t.StructField("partition", t.IntegerType()),
    ]
)
PROPERTIES = t.MapType(t.StringType(), t.StringType())

READ_SCHEMA = t.StructType(
    [
        t.StructField("key", t.BinaryType()),
        t.StructField("value", t.BinaryType()),
        t.StructField("topic", t.StringType()),
        t.StructField("partition", t.IntegerType()),
        t.StructField("properties", PROPERTIES),
        t.StructField("publish_time", t.TimestampType()),
        t.StructField("event_time", t.TimestampType()),
        t.StructField("message_id", MESSAGE_ID),
        t.StructField("ordering_key", t.BinaryType()),
        t.StructField("producer_name", t.StringType()),
        t.StructField("sequence_id", t.LongType()),
    ]
)
"""``topic`` is the partition's full name; ``partition`` is -1 on a topic without partitions."""

PULSAR_SPARK_SCHEMA = t.StructType(
    [
        t.StructField("value", t.BinaryType()),
        t.StructField("__key", t.BinaryType()),
        t.StructField("__topic", t.StringType()),
        t.StructField("__messageId", t.BinaryType()),
        t.StructField("__publishTime", t.TimestampType()),
        t.StructField("__eventTime", t.TimestampType()),
        t.StructField("__messageProperties", PROPERTIES),
    ]
)
"""The columns of StreamNative's connector; ``__messageId`` is as clients serialize it."""
HEADERS = t.ArrayType(
    t.StructType([t.StructField("key", t.StringType()), t.StructField("value", t.BinaryType())])
)
KAFKA_SCHEMA = t.StructType(
    [
        t.StructField("key", t.BinaryType()),
        t.StructField("value", t.BinaryType()),
        t.StructField("topic", t.StringType()),
        t.StructField("partition", t.IntegerType()),
        t.StructField("offset", t.LongType()),
        t.StructField("timestamp", t.TimestampType()),
        t.StructField("timestampType", t.IntegerType()),
    ]
)
"""The columns of Spark's source for Kafka; ``headers`` is one more where it is asked for."""
KAFKA_NAMES = {"topic": "whole_topic", "partition": "partition_from_0"}
"""What these are called where they are made, as ``OWN_NAMES``."""
OWN_NAMES = {
    "__key": "key",
    "__topic": "topic",
    "__messageId": "serialized_message_id",
    "__publishTime": "publish_time",
    "__eventTime": "event_time",
    "__messageProperties": "properties",
}
"""What these columns are called where they are made (``columns.py``)."""

_BYTES: tuple[t.DataType, ...] = (t.BinaryType(), t.StringType())
WRITE_COLUMNS: dict[str, tuple[t.DataType, ...]] = {
    "value": _BYTES,
    "key": _BYTES,
    "topic": (t.StringType(),),
    "properties": (PROPERTIES,),
    "headers": (HEADERS,),
    "event_time": (t.TimestampType(),),
    "ordering_key": _BYTES,
}
"""The columns that a written row may have, and their types. Strings are written as UTF-8."""


def with_values(
    columns: t.StructType, value: t.DataType, *, top_level: bool, corrupt: str | None
) -> t.StructType:
    """``columns`` with typed values: one column, or ``top_level`` one for each field of a struct.

    ``corrupt`` is the column of payloads that are no such value. Raises InvalidValue where a field
    is called like another column.
    """
    typed = [t.StructField("value", value)]
    if top_level and isinstance(value, t.StructType):
        typed = list(value)
    fields: list[t.StructField] = []
    for field in columns:
        fields += typed if field.name == "value" else [field]
    if corrupt is not None:
        fields.append(t.StructField(corrupt, t.BinaryType()))
    names = [field.name for field in fields]
    for name in names:
        if names.count(name) > 1:
            raise InvalidValue(
                f"there would be two columns '{name}', one of them of the topic's schema: leave "
                f"the option columns out, or name {name} otherwise in columnNameOfCorruptRecord"
            )
    return t.StructType(fields)


def check_read(schema: t.StructType, offered: t.StructType = READ_SCHEMA) -> t.StructType:
    """The columns asked for, or InvalidValue: any of those offered, in any order."""
    known = {field.name: field.dataType for field in offered}
    for field in schema:
        if not _within(field.dataType, known.get(field.name)):
            raise InvalidValue(
                f"there is no column '{field.name} {field.dataType.simpleString()}' in a message; "
                f"choose from: {offered.simpleString()}"
            )
    return schema


def check_write(
    schema: t.StructType, *, topic: str | None, text: bool = False, typed: bool = False
) -> None:
    """Raise InvalidValue unless rows of this schema can be written as messages.

    ``typed``: the value is of any type, which a schema then takes or not.

    What a read says of a message beyond that is left out: its place, its producer and its time.
    """
    read = {
        field.name: field.dataType
        for field in (*KAFKA_SCHEMA, *READ_SCHEMA)
        if field.name not in WRITE_COLUMNS
    }
    for field in schema:
        if read.get(field.name) == field.dataType:
            continue
        allowed = WRITE_COLUMNS.get(field.name)
        if allowed is None:
            raise InvalidValue(
                f"column '{field.name}' is no part of a message: select only "
                f"{', '.join(WRITE_COLUMNS)}, for example "
                "df.select(to_json(struct('*')).alias('value')), or struct('*').alias('value') "
                "with the option schema=avro"
            )
        if typed and field.name == "value":
            continue
        if not any(_same(field.dataType, choice) for choice in allowed):
            raise InvalidValue(
                f"column '{field.name}' is {field.dataType.simpleString()}: cast it to "
                f"{' or '.join(choice.simpleString() for choice in allowed)}"
                + (", or set the option schema" if field.name == "value" else "")
            )
    names = schema.fieldNames()
    if "value" not in names:
        raise InvalidValue("there is no column 'value': a message's content comes from it")
    if {"properties", "headers"} <= {*names}:
        raise InvalidValue("columns 'properties' and 'headers' say the same: leave one out")
    if text and schema["value"].dataType != t.StringType():
        raise InvalidValue("schema=string is for text: cast the column 'value' to string")
    if topic is None and "topic" not in names:
        raise InvalidValue("where to? Set the option topic, or add a column 'topic' to the rows")


def _within(asked: t.DataType, offered: t.DataType | None) -> bool:
    """The same, or of a value a struct with some fields; whether or not something may be null."""
    if offered == MESSAGE_ID:
        return asked == offered
    if isinstance(asked, t.StructType) and isinstance(offered, t.StructType):
        known = {field.name: field.dataType for field in offered}
        return all(_within(field.dataType, known.get(field.name)) for field in asked)
    if isinstance(asked, t.ArrayType) and isinstance(offered, t.ArrayType):
        return _within(asked.elementType, offered.elementType)
    if isinstance(asked, t.MapType) and isinstance(offered, t.MapType):
        return asked.keyType == offered.keyType and _within(asked.valueType, offered.valueType)
    return asked == offered


def _same(found: t.DataType, wanted: t.DataType) -> bool:
    """Equal, whether or not the values in a map, or the parts of headers, may be null."""
    if wanted == HEADERS:
        return found.simpleString() == wanted.simpleString()
    if isinstance(found, t.MapType) and isinstance(wanted, t.MapType):
        return found.keyType == wanted.keyType and found.valueType == wanted.valueType
    return found == wanted
