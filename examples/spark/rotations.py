"""Sessions with state and timers: the rotations of a plane, which are its flights without a pause.

A plane that leaves New York again within twelve hours is still on its rotation; when it has not
been seen for twelve hours, the rotation is over and goes to a topic. That needs state for each
plane, and a timer for each that is under way.

    python examples/spark/rotations.py
"""

import sys
from collections.abc import Iterator

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

import magnetar.spark

PAUSE_MS = 12 * 3_600_000
SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}
Rotation = Row("plane", "began_ms", "ended_ms", "flights")
ROTATION = "plane string, began_ms bigint, ended_ms bigint, flights int"
"""A rotation, as it is kept in the state of a plane, and as it is told when it is over."""


class Rotations(StatefulProcessor):
    """Follows each plane; a rotation is told once, when it is over."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._open = handle.getValueState("open", ROTATION)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: tuple[str],
        rows: Iterator[Row],
        timerValues: TimerValues,  # noqa: N803
    ) -> Iterator[Row]:
        (plane,) = key
        now = self._open.get() if self._open.exists() else None
        for time_ms in sorted(row.time_ms for row in rows):
            if now is not None and time_ms - now[2] < PAUSE_MS:
                # A flight that comes late may have begun the rotation.
                now = (plane, min(now[1], time_ms), max(now[2], time_ms), now[3] + 1)
                continue
            if now is not None:
                yield Rotation(*now)
            now = (plane, time_ms, time_ms, 1)
        assert now is not None, "Spark hands over rows"
        self._open.update(tuple(now))
        for timer in self._handle.listTimers():
            self._handle.deleteTimer(timer)
        self._handle.registerTimer(now[2] + PAUSE_MS)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: tuple[str],
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> Iterator[Row]:
        yield Rotation(*(self._open.get() or ()))
        self._open.clear()

    def close(self) -> None:
        pass


def rotations(flights: DataFrame) -> DataFrame:
    """From the messages of flights, keyed by plane, to messages of rotations that are over."""
    departed = f.get_json_object(f.col("value").cast("string"), "$.departed").isNotNull()
    seen = (
        flights.where(f.col("key").isNotNull() & departed)
        .withWatermark("event_time", "1 hour")
        .select(
            f.col("key").cast("string").alias("plane"),
            f.unix_millis("event_time").alias("time_ms"),
            "event_time",
        )
    )
    over = seen.groupBy("plane").transformWithState(
        statefulProcessor=Rotations(),
        outputStructType=ROTATION,
        outputMode="Append",
        timeMode="EventTime",
    )
    return over.select(f.col("plane").alias("key"), f.to_json(f.struct("*")).alias("value"))


def run(spark: SparkSession, service_url: str, checkpoint: str, topics: str = "") -> None:
    """Read what there is. ``topics`` is what their names begin with."""
    at = {"service.url": service_url}
    reader = spark.readStream.format("pulsar").options(**at, topic=f"{topics}flights")
    writer = rotations(reader.option("startingOffsets", "earliest").load()).writeStream
    writer = writer.format("pulsar").options(**at, topic=f"{topics}rotations")
    writer = writer.outputMode("append").option("checkpointLocation", checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()


def main(service_url: str = "pulsar://localhost:6650") -> None:
    spark = magnetar.spark.session("rotations", settings=SETTINGS)
    run(spark, service_url, "checkpoints/rotations")
    told = spark.read.format("pulsar").options(**{"service.url": service_url, "topic": "rotations"})
    longest = told.load().selectExpr("from_json(string(value), 'flights int, plane string') one")
    longest.selectExpr("one.*").orderBy(f.desc("flights")).show(5)

    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
