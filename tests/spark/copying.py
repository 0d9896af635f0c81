"""The program that a campaign kills: copies a topic by micro-batches until it has all of it."""

import sys

from magnetar.spark.session import session

MESSAGES_PER_TRIGGER = "40000"


def main(service_url, admin_url, topic, checkpoint):
    spark = session("copying", master="local[2]")
    broker = {"service.url": service_url, "topic": topic, "startingOffsets": "earliest"}
    reader = spark.readStream.format("pulsar").options(**broker).schema("key binary, value binary")
    frame = reader.option("maxMessagesPerTrigger", MESSAGES_PER_TRIGGER).load()
    writer = frame.writeStream.format("pulsar").option("guarantee", "exactly-once")
    writer = writer.options(**{"service.url": service_url, "admin.url": admin_url})
    writer = writer.options(topic=f"{topic}-copy", checkpointLocation=checkpoint)
    query = writer.trigger(availableNow=True).start()
    while not query.recentProgress and not query.awaitTermination(0.1):
        pass
    print("under way", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
