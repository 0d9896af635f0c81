"""A change log becomes a table: where each plane is, kept up to date from the topic of flights.

A flight's message says where its plane has gone: the last one of a key is the truth. A diverted
flight deletes the key, as nobody knows where the plane has landed. Each micro-batch is merged into
a table of Parquet: a new version, in a folder of its own, and then a file that names it. So a
reader sees a whole version, and a micro-batch that is run again writes the same one again.

    python examples/spark/whereabouts.py
"""

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

import magnetar.spark

FLIGHT = "destination string, departed string, arrival_delay int"


class Table:
    """A table in ``folder``: a folder for each version, and a file with the current one's name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._current = folder / "CURRENT"

    def read(self, spark: SparkSession) -> DataFrame | None:
        """What it holds now; None before the first version."""
        if not self._current.exists():
            return None
        return spark.read.parquet(str(self._folder / self._current.read_text()))

    def merge(self, changes: DataFrame, batch_id: int) -> None:
        """For ``foreachBatch``: the last change of each key takes the place of its row."""
        version = f"version-{batch_id}"
        if self._current.exists() and self._current.read_text() == version:
            return  # This micro-batch was merged, and Spark ended before it could note that.
        last = last_of_each_key(changes)
        held = self.read(changes.sparkSession)
        if held is not None:
            last = last.unionByName(held.join(last, "plane", "left_anti"))
        kept = last.where("place IS NOT NULL")
        kept.coalesce(1).write.mode("overwrite").parquet(str(self._folder / version))
        draft = self._folder / "CURRENT.new"
        draft.write_text(version)
        draft.replace(self._current)


def changes(flights: DataFrame) -> DataFrame:
    """From the messages of flights that departed: where the plane is, null where nobody knows."""
    flight = f.from_json(f.col("value").cast("string"), FLIGHT)
    return (
        flights.where("key IS NOT NULL")
        .select(f.col("key").cast("string").alias("plane"), flight.alias("flight"), "message_id")
        .where("flight.departed IS NOT NULL")
        .selectExpr(
            "plane",
            "if(flight.arrival_delay IS NULL, NULL, flight.destination) AS place",
            "message_id",
        )
    )


def last_of_each_key(changes: DataFrame) -> DataFrame:
    """A key's messages are in one partition, where ids are in the order of publishing."""
    newest_first = Window.partitionBy("plane").orderBy(f.desc("message_id"))
    ranked = changes.withColumn("rank", f.row_number().over(newest_first))
    return ranked.where("rank = 1").select("plane", "place")


def run(spark: SparkSession, service_url: str, folder: Path, topics: str = "") -> Table:
    """Read what there is. ``topics`` is what their names begin with."""
    folder.mkdir(parents=True, exist_ok=True)
    table = Table(folder)
    reader = spark.readStream.format("pulsar").option("service.url", service_url)
    reader = reader.options(topic=f"{topics}flights", startingOffsets="earliest")
    writer = changes(reader.load()).writeStream.foreachBatch(table.merge)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    return table


def main(service_url: str = "pulsar://localhost:6650") -> None:
    spark = magnetar.spark.session("whereabouts")
    held = run(spark, service_url, Path("whereabouts")).read(spark)
    assert held is not None, "the topic has flights: python examples/spark/publish.py"
    held.groupBy("place").count().orderBy(f.desc("count")).show(5)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
