"""A topic as a DataFrame in which Spark itself reads the files of ledgers that were offloaded.

``format("pulsar")`` reads them in Python, whatever the query asks for. Here Spark skips columns and
row groups that it does not need, and counts without reading: for analyses of much history.
"""

import json
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import zip_longest
from urllib.parse import unquote, urlsplit

from pyspark.sql import DataFrame, SparkSession

from magnetar.errors import InvalidValue
from magnetar.spark.batch_reader import BatchReader
from magnetar.spark.planning import Range
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.schema import READ_SCHEMA
from magnetar.spark.stitching import LedgerCopy

_REPLACED = frozenset(
    {"topic", "topics", "topicspattern", "history", "admin.url"}
    | {"startingoffsets", "startingtime", "startingtimestamp"}
    | {"endingoffsets", "endingtime", "endingtimestamp"}
)
"""Options of the whole read, in lower case: those of its parts say which."""


def history(spark: SparkSession, options: dict[str, str]) -> DataFrame:
    """The messages that a batch read with these options has, each once; ``admin.url`` among them.

    What the broker alone has is planned now, and read when the DataFrame is. Raises as that read,
    and InvalidValue where files are in buckets: a Spark needs its own connectors for these.
    """
    parsed = ReadOptions.parse({**options, "history": "auto"}, streaming=False)
    files, rest = BatchReader(parsed, READ_SCHEMA).stitched()
    frames = [_frame(spark, options, ranges) for ranges in _rounds(rest)]
    if files:
        frames.append(spark.read.schema(READ_SCHEMA).parquet(*map(_path, files)))
    if not frames:
        return spark.createDataFrame([], READ_SCHEMA)
    return reduce(DataFrame.unionByName, frames)


def _rounds(ranges: Sequence[Range]) -> Iterator[list[Range]]:
    """The ranges so that each list has one of a topic at most: a read has one range of each."""
    by_topic: dict[str, list[Range]] = {}
    for wanted in ranges:
        by_topic.setdefault(wanted.topic, []).append(wanted)
    for each in zip_longest(*by_topic.values()):
        yield [wanted for wanted in each if wanted is not None]


def _frame(spark: SparkSession, options: dict[str, str], ranges: Sequence[Range]) -> DataFrame:
    given = {name: value for name, value in options.items() if name.lower() not in _REPLACED}
    return (
        spark.read.format("pulsar")
        .options(
            **given,
            topics=",".join(wanted.topic for wanted in ranges),
            startingOffsets=json.dumps({each.topic: str(each.after) for each in ranges}),
            endingOffsets=json.dumps({each.topic: str(each.upto) for each in ranges}),
        )
        .load()
    )


def _path(file: LedgerCopy) -> str:
    parts = urlsplit(file.url)
    if parts.scheme != "file":
        raise InvalidValue(f'{file.url} is a bucket: read it by option("history", "auto")')
    return f"{unquote(parts.path)}/{file.name}"
