"""The columns of a source's JSON, and the messages whose values are none, which it rejects."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructType

from magnetar.errors import InvalidValue
from magnetar.pipelines.accounts import FAILED, MALFORMED, PASSED, ROWS
from magnetar.pipelines.declaration import Source
from magnetar.pipelines.set_aside import set_aside

_PARSED: Final = "__json"
_CORRUPT: Final = "__corrupt"
_WHY: Final = "__why"


def parsed(frame: DataFrame, source: Source, columns: str) -> tuple[DataFrame, DataFrame | None]:
    """The messages with the columns of their values, and as messages those that are rejected.

    A value that is malformed stops the query where the source rejects none. A message without a
    value has nulls in all columns. Raises InvalidValue.
    """
    text = f.col("value").cast("string")
    kind = frame.select(f.from_json(text, columns).alias(_PARSED)).schema[_PARSED].dataType
    if not isinstance(kind, StructType):
        raise InvalidValue(f"json has to be columns, such as id int, name string: not {columns}")
    names = kind.fieldNames()
    taken = {name.lower() for name in frame.columns} & {name.lower() for name in names}
    if taken:
        raise InvalidValue(
            f"json has a column {taken.pop()}, as a message has: rename it in a step, with "
            "from_json(string(value), ...)"
        )
    with_corrupt = StructType([*kind.fields]).add(_CORRUPT, StringType())
    options = {"columnNameOfCorruptRecord": _CORRUPT}
    rows = frame.withColumn(_PARSED, f.from_json(text, with_corrupt, options))
    rows = rows.withColumn(_WHY, _why(text, names))
    rejected = None
    if source.rejects:
        malformed = f.col(_WHY).isNotNull()
        rows = rows.observe(
            source.name,
            f.count("*").alias(ROWS),
            f.count_if(~malformed).alias(PASSED),
            f.count_if(malformed).alias(f"{FAILED}{MALFORMED}"),
        )
        rejected = set_aside(rows.where(malformed), source.name, f.col(_WHY))
        rows = rows.where(~malformed)
    else:
        rows = rows.where(
            f.when(f.col(_WHY).isNull(), f.lit(True)).otherwise(_refusal(frame, source))
        )
    fields = [f.col(f"{_PARSED}.`{name}`") for name in names]
    return rows.select(*fields, *frame.columns), rejected


def _why(text: Column, names: list[str]) -> Column:
    """Why a value is malformed; null where it is not. Spark would pass over what follows it."""
    found = f.from_json(text, "map<string,string>")
    unfit = [
        f.when(
            f.col(f"{_PARSED}.`{name}`").isNull()
            & f.try_element_at(found, f.lit(name)).isNotNull(),
            f.lit(name),
        )
        for name in names
    ]
    of_columns = f.concat(f.lit("it does not fit the columns "), f.concat_ws(", ", *unfit))
    values = f.json_array_length(f.concat(f.lit("["), text, f.lit("]")))
    is_object = f.coalesce(values == 1, f.lit(False)) & text.rlike(r"^\s*\{")
    return (
        f.when(text.isNull(), f.lit(None))
        .when(~f.is_valid_utf8(text), f.lit("it is no UTF-8"))
        .when(~is_object, f.lit("it is no JSON object"))
        .when(f.col(f"{_PARSED}.{_CORRUPT}").isNotNull(), of_columns)
    )


def _refusal(frame: DataFrame, source: Source) -> Column:
    known = [name for name in ("topic", "message_id") if name in frame.columns]
    where = f.to_json(f.struct(*known)) if known else f.lit("a message")
    remedy = "declare reject, where such messages go"
    if not source.streaming:
        remedy = "leave json out, and parse the value in a step"
    return f.raise_error(
        f.concat(
            f.lit(f"sources.{source.name}: the value of "),
            where,
            f.lit(" is malformed, "),
            f.col(_WHY),
            f.lit(f": {remedy}"),
        )
    ).cast("boolean")
