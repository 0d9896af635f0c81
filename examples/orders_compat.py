"""One program, three ways, here as it was written for ``pulsar-client``: only the import changed.

``orders_asyncio.py`` and ``orders_blocking.py`` print the same.
Start a broker first (``magnetar standalone``), then: ``python examples/orders_compat.py``
"""

import sys
from collections import Counter

import magnetar.compat as pulsar

ORDERS = [("ann", 3), ("bob", 5), ("ann", 4), ("cid", 1), ("bob", 2)]


def main(service_url: str, topic: str) -> None:
    total: Counter[str] = Counter()
    client = pulsar.Client(service_url)
    consumer = client.subscribe(topic, "totals", consumer_type=pulsar.ConsumerType.Shared)
    producer = client.create_producer(topic)
    for customer, count in ORDERS:
        producer.send(b"%d" % count, partition_key=customer)
    for _ in ORDERS:
        message = consumer.receive(timeout_millis=5000)
        total[message.partition_key()] += int(message.data())
        consumer.acknowledge(message)
    client.close()
    for customer, count in sorted(total.items()):
        print(f"{customer}: {count}")


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    main(url, sys.argv[2] if len(sys.argv) > 2 else "orders")
