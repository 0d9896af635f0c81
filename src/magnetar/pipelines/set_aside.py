"""Rows that are set aside, as messages: what a source rejects, and what a step quarantines.

A row that still has its message, by the columns ``value``, ``topic`` and ``message_id``, becomes
that message again, byte for byte. Its properties say what a dead letter's say, where and as what
it was published, so that it can be mended and sent back; and why it was set aside.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from magnetar.client.consumers.dead_letter_policy import ORIGIN, TOPIC
from magnetar.spark.schema import MESSAGE_ID, PROPERTIES

REASON: Final = "REASON"
VIEW: Final = "VIEW"
ROW: Final = "ROW"

MESSAGE: Final = {"value": "binary", "topic": "string", "message_id": MESSAGE_ID.simpleString()}
_REST: Final = {"ordering_key": "binary", "event_time": "timestamp"}
_PARTITION: Final = "-partition-[0-9]+$"


def has_message(rows: DataFrame) -> bool:
    """Whether each row says which message it was made of."""
    return MESSAGE.items() <= dict(rows.dtypes).items()


def set_aside(rows: DataFrame, view: str, reason: Column, row: Column | None = None) -> DataFrame:
    """The rows as messages; ``row`` is what the view made of each, where it made something.

    A row that does not have its message is written as ``row``.
    """
    types = dict(rows.dtypes)
    told = {VIEW: f.lit(view), REASON: reason}
    own = f.create_map().cast(PROPERTIES)
    if types.get("properties") == PROPERTIES.simpleString():
        own = f.coalesce(f.col("properties"), own)
    columns = {name: f.col(name) for name, kind in _REST.items() if types.get(name) == kind}
    if "key" in types:
        columns["key"] = f.col("key").cast("binary")
    if row is None or has_message(rows):
        columns["value"] = f.col("value")
        told |= {} if row is None else {ROW: row}
        told |= {
            name: f.coalesce(f.try_element_at(own, f.lit(name)), said)
            for name, said in _origin(types).items()
        }
    else:
        columns["value"] = row
    kept = f.map_filter(own, lambda name, value: ~name.isin(*told) & value.isNotNull())
    said = f.map_from_arrays(f.array(*map(f.lit, told)), f.array(*told.values()))
    columns["properties"] = f.map_concat(kept, said)
    return rows.select(*[column.alias(name) for name, column in columns.items()])


def _origin(types: dict[str, str]) -> dict[str, Column]:
    """Where the message of a row was published, and its id, as far as the columns tell it."""
    found = {}
    if types.get("topic") == MESSAGE["topic"]:
        found[TOPIC] = f.regexp_replace("topic", _PARTITION, "")
    if types.get("message_id") == MESSAGE["message_id"]:
        at = [f.col(f"message_id.{name}") for name in ("ledger_id", "entry_id", "partition")]
        index = f.col("message_id.batch_index")
        found[ORIGIN] = f.concat_ws(":", *at, f.when(index >= 0, index))
    return found
