"""Writes what changed in each micro-batch: update mode, which Spark offers to no Python sink."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame

from magnetar.errors import InvalidValue
from magnetar.spark.write_options import EXACTLY_ONCE, WriteOptions


def write_batch(
    options: Mapping[str, str], *, sort_by: Sequence[str] = ()
) -> Callable[[DataFrame, int], None]:
    """What ``foreachBatch`` calls to write each micro-batch; ``options`` are those of the sink.

    With ``guarantee=exactly-once`` each micro-batch is written once. ``sort_by`` then names columns
    that put the rows of a task into one order: what was grouped comes in any. Give each such writer
    of a query a ``txnAppId`` of its own, which is the query's own in every run of it.
    Raises InvalidValue.
    """
    given = {name.lower(): value for name, value in options.items()}
    exactly_once = given.get("guarantee") == EXACTLY_ONCE
    if exactly_once and not (sort_by and given.get("txnappid")):
        raise InvalidValue(
            f"guarantee={EXACTLY_ONCE} in foreachBatch needs the option txnAppId, a name that "
            "this writer has in every run, and sort_by, columns that order the rows of a task"
        )
    versioned = {"txnVersion": "0"} if exactly_once else {}
    WriteOptions.parse({**options, **versioned}, streaming=False)

    def write(rows: DataFrame, batch_id: int) -> None:
        if sort_by:
            rows = rows.sortWithinPartitions(*sort_by)
        writer = rows.write.format("pulsar").mode("append").options(**options)
        if exactly_once:
            writer = writer.option("txnVersion", batch_id)
        writer.save()

    return write
