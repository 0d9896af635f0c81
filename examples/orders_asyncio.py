"""One program, three ways, here with asyncio: what each customer has ordered.

``orders_blocking.py`` and ``orders_compat.py`` print the same.
Start a broker first (``magnetar standalone``), then: ``python examples/orders_asyncio.py``
"""

import asyncio
import sys
from collections import Counter

from magnetar import Client, OutgoingMessage, SubscriptionType

ORDERS = [("ann", 3), ("bob", 5), ("ann", 4), ("cid", 1), ("bob", 2)]


async def main(service_url: str, topic: str) -> None:
    total: Counter[str] = Counter()
    async with (
        Client(service_url) as client,
        client.subscribe(topic, "totals", type=SubscriptionType.SHARED) as consumer,
        client.create_producer(topic) as producer,
    ):
        await producer.send_many(
            [OutgoingMessage(b"%d" % count, key=customer) for customer, count in ORDERS]
        )
        for _ in ORDERS:
            message = await consumer.receive(timeout_s=5)
            total[message.key or ""] += int(message.data)
            consumer.acknowledge(message)
    for customer, count in sorted(total.items()):
        print(f"{customer}: {count}")


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    asyncio.run(main(url, sys.argv[2] if len(sys.argv) > 2 else "orders"))
