"""What ``record.py`` records of the official Python client."""

import random
import sys

import pulsar

chance = random.Random(1)
client = pulsar.Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))
for count, batching in ((400, False), (4000, True)):
    producer = client.create_producer(
        "persistent://public/default/recorded", batching_enabled=batching, block_if_queue_full=True
    )
    for _ in range(count):
        producer.send_async(
            b"x" * chance.randint(717, 1331),
            callback=None,
            partition_key=f"customer-{chance.randrange(1000)}",
            properties={
                "source": "orders",
                "region": chance.choice(["eu-central", "us-east"]),
                "trace": f"{chance.getrandbits(64):x}",
            },
        )
    producer.flush()
client.close()
