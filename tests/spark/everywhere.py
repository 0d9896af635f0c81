"""The program that runs in every place where Spark may be: reads, writes, streams, updates.

It prints what came of it as JSON, and where a worker has the connector from.
"""

import json
import sys

from pyspark.errors import PySparkException

import magnetar.spark
from magnetar.spark.update_mode import write_batch

ROWS = 100


def main(service_url, place, checkpoints, with_connector):
    spark = magnetar.spark.session("everywhere", **place, with_connector=with_connector)
    broker = {"service.url": service_url}
    rows = spark.range(ROWS).selectExpr("string(id % 3) AS key", "string(id) AS value")
    rows.write.format("pulsar").options(**broker, topic="in").mode("append").save()

    def stream():
        reader = spark.readStream.format("pulsar").options(**broker, topic="in")
        return reader.option("startingOffsets", "earliest").load()

    def run(writer, name):
        writer = writer.option("checkpointLocation", f"{checkpoints}/{name}")
        writer.trigger(availableNow=True).start().awaitTermination()

    def read(topic):
        return spark.read.format("pulsar").options(**broker, topic=topic).load()

    run(stream().writeStream.format("pulsar").options(**broker, topic="copy"), "copy")
    counts = stream().groupBy("key").count().selectExpr("key", "string(count) AS value")
    update = counts.writeStream.outputMode("update")
    run(update.foreachBatch(write_batch({**broker, "topic": "counts"})), "counts")
    copied = read("copy").selectExpr("int(string(value)) AS value").collect()
    counted = read("counts").selectExpr("string(key) AS key", "int(string(value)) AS n").collect()
    where = rows.limit(1).mapInArrow(connector_of_the_worker, "file string").first().file
    found = {
        "copied": sorted(row.value for row in copied),
        "counted": {row.key: row.n for row in counted},
        "connector": where,
        "said": [first_line(stream_of_nothing, spark), first_line(write_unasked, rows)],
    }
    print(json.dumps(found), flush=True)
    spark.stop()


def stream_of_nothing(spark):
    """Over Connect nothing is made before somebody asks for it."""
    return spark.readStream.format("pulsar").option("startingOfsets", "earliest").load().schema


def write_unasked(rows):
    """A task has no broker to connect to."""
    given = {"service.url": "pulsar://127.0.0.1:1", "topic": "out", "timeoutSeconds": "1"}
    writer = rows.limit(1).write.format("pulsar").options(**given).mode("append")
    writer.save()


def first_line(action, argument):
    """Of what is raised."""
    try:
        action(argument)
    except PySparkException as error:
        return str(error).splitlines()[0]
    return "nothing"


def connector_of_the_worker(batches):
    import pyarrow as pa  # noqa: PLC0415

    import magnetar  # noqa: PLC0415 - asked in a worker

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [magnetar.__file__] * len(batch)})


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
