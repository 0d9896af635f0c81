"""Receive and acknowledge what ``produce.py`` has sent, until nothing has come for a second.

Start a broker first (``magnetar standalone``), then: ``python examples/consume.py``
"""

import asyncio
import sys

from magnetar import Client, InitialPosition, SubscriptionType


async def main(service_url: str, topic: str) -> None:
    async with Client(service_url) as client:
        consumer = await client.subscribe(
            topic,
            "printer",
            type=SubscriptionType.SHARED,  # Start this twice, and the two share the messages.
            initial_position=InitialPosition.EARLIEST,
        )
        count = 0
        while messages := await consumer.receive_many(1000, timeout_s=1.0):
            for message in messages[:3]:
                print(f"{message.message_id} {message.key}: {message.data.decode()}")
            count += len(messages)
            consumer.acknowledge(messages)  # What is not acknowledged comes again.
        print(f"{count} messages")


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    asyncio.run(main(url, sys.argv[2] if len(sys.argv) > 2 else "examples"))
