"""The program that a campaign kills: copies a topic by micro-batches until it has all of it."""

import sys

import faulty
from pyspark import cloudpickle

from magnetar.spark.session import session

MESSAGES_PER_TRIGGER = "30000"
SETTINGS = {"spark.sql.execution.arrow.maxRecordsPerBatch": "2000"}


def main(service_url, admin_url, topic, folder, delivery):
    # Tasks are tried again: only a worker that plans or commits ends the program when it dies.
    spark = session("copying", master="local[2,4]", settings=SETTINGS)
    faults = faulty.Faults(folder)
    faults.tell("driver", spark._jvm.java.lang.ProcessHandle.current().pid())
    cloudpickle.register_pickle_by_value(faulty)  # Workers do not find it.
    spark.dataSource.register(faulty.FaultySource)
    there = {"service.url": service_url, "faults": folder, "retryForever": "true"}
    reader = spark.readStream.format("faulty-pulsar").options(**there, topic=topic)
    reader = reader.option("startingOffsets", "earliest").schema("key binary, value binary")
    frame = reader.option("maxMessagesPerTrigger", MESSAGES_PER_TRIGGER).load()
    writer = frame.writeStream.format("faulty-pulsar").options(**there, topic=f"{topic}-copy")
    if delivery == "transaction":
        writer = writer.option("delivery", delivery)
    else:
        writer = writer.options(**{"guarantee": "exactly-once", "admin.url": admin_url})
    writer = writer.option("checkpointLocation", f"{folder}/checkpoint")
    query = writer.trigger(availableNow=True).start()
    while not query.recentProgress and not query.awaitTermination(0.1):
        pass
    print("under way", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
