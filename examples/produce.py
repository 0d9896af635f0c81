"""Send messages: one by one, many at once, and with a key.

Start a broker first (``magnetar standalone``), then: ``python examples/produce.py``
"""

import asyncio
import sys

from magnetar import Client, CompressionType, OutgoingMessage


async def main(service_url: str, topic: str) -> None:
    async with (
        Client(service_url) as client,
        client.create_producer(topic, compression=CompressionType.LZ4) as producer,
    ):
        # One message, and where the broker stored it.
        message_id = await producer.send(b"the first", key="greeting", properties={"from": "me"})
        print(f"stored at {message_id}")

        # Many: the fast way. They travel in batches; the ids come back in order.
        ids = await producer.send_many([b"message %d" % number for number in range(1000)])
        print(f"{len(ids)} more, the last one at {ids[-1]}")

        # Keys keep their order, and their partition.
        await producer.send_many(
            [OutgoingMessage(b"+%d" % n, key=f"account-{n % 3}") for n in range(9)]
        )


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    asyncio.run(main(url, sys.argv[2] if len(sys.argv) > 2 else "examples"))
