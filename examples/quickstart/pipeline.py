"""The Spark pipeline: two queries over the topic of flights.

One keeps, for each carrier and day of scheduled departure, the count and the delays, and writes
all figures that changed to the topic of results. The other passes on the messages of cancelled
flights, as they are, to a topic of their own.

Why no flight can be lost or counted twice, whatever the timing, is told in ``docs/spark.md``: the
figures of a window are a running total under the window's name, so the last message of each name
is the answer however often it was written; and with no watermark there is no such thing as late.
"""

from pathlib import Path
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from quickstart.topics import QuickstartTopics

FLIGHT = "id int, carrier string, departed string, departure_delay int, arrival_delay int"
"""What the pipeline needs of a message's content, which ``flights.content`` writes."""
TRIGGER = "500 milliseconds"


class Pipeline(NamedTuple):
    """Builds and starts the queries of one run."""

    spark: SparkSession
    service_url: str
    topics: QuickstartTopics
    checkpoints: Path

    def start_windows(self) -> StreamingQuery:
        """Flights by carrier and day, to the topic of results.

        A Python sink takes no updates from Spark, so each micro-batch is written as a batch.
        """
        options = {"service.url": self.service_url, "topic": str(self.topics.results)}

        def write(changed: DataFrame, _batch_id: int) -> None:
            changed.write.format("pulsar").mode("append").options(**options).save()

        days = to_results(carrier_days(self._messages()))
        return self._start("windows", days.writeStream.foreachBatch(write).outputMode("update"))

    def start_cancelled(self) -> StreamingQuery:
        """The messages of cancelled flights, to a topic of their own."""
        options = {"service.url": self.service_url, "topic": str(self.topics.cancelled)}
        passed_on = cancelled(self._messages()).writeStream.format("pulsar").options(**options)
        return self._start("cancelled", passed_on.outputMode("append"))

    def _messages(self) -> DataFrame:
        return (
            self.spark.readStream.format("pulsar")
            .schema("key binary, value binary, event_time timestamp")
            .option("service.url", self.service_url)
            .option("topic", str(self.topics.flights))
            .option("startingOffsets", "earliest")
            .load()
        )

    def _start(self, name: str, writer: DataStreamWriter) -> StreamingQuery:
        writer = writer.option("checkpointLocation", str(self.checkpoints / name))
        return writer.queryName(name).trigger(processingTime=TRIGGER).start()


def carrier_days(messages: DataFrame) -> DataFrame:
    """The figures of each carrier's day, over flights that were not cancelled."""
    return (
        # The list of one keeps Spark from parsing each message again for the condition.
        messages.select("event_time", f.inline(f.array(_flight())))
        .where(f.col("departed").isNotNull())
        .groupBy(f.window("event_time", "1 day").alias("day"), "carrier")
        .agg(
            f.count("*").alias("flights"),
            f.avg("departure_delay").alias("mean_departure_delay"),
            f.max("departure_delay").alias("worst_departure_delay"),
            f.avg("arrival_delay").alias("mean_arrival_delay"),
            f.max("arrival_delay").alias("worst_arrival_delay"),
            # Which flights these figures are about: the reconciliation counts them one by one.
            f.collect_list("id").alias("flight_ids"),
        )
        .withColumn("day", f.date_format("day.start", "yyyy-MM-dd"))
    )


def to_results(days: DataFrame) -> DataFrame:
    """As messages: the window's name is the key, so a topic of results can be compacted."""
    return days.select(
        f.concat_ws(" ", "carrier", "day").alias("key"),
        f.to_json(f.struct("*")).alias("value"),
        f.to_timestamp("day").alias("event_time"),
    )


def cancelled(messages: DataFrame) -> DataFrame:
    """The messages of flights that never departed, unchanged."""
    return messages.where(_flight().departed.isNull()).select("key", "value", "event_time")


def _flight() -> Column:
    return f.from_json(f.col("value").cast("string"), FLIGHT)
