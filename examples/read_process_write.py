"""Read, process and write as one act: each order becomes one invoice, whatever is killed when.

Start a broker with ``transactionCoordinatorEnabled=true`` and ``brokerDeduplicationEnabled=true``,
then: ``python examples/read_process_write.py``. Kill it and start it again: no order is lost, and
none is billed twice.
"""

import asyncio
import sys

from magnetar import Client, InitialPosition, Message, SubscriptionType
from magnetar.errors import TransactionAborted


def invoice_of(order: Message[bytes]) -> bytes:
    return b"invoice for " + order.data


async def main(service_url: str, orders: str, invoices: str) -> None:
    async with Client(service_url) as client:
        async with client.create_producer(orders) as producer:
            await producer.send_many([b"order %d" % number for number in range(1000)])
        consumer = await client.subscribe(
            orders,
            "billing",
            type=SubscriptionType.SHARED,
            initial_position=InitialPosition.EARLIEST,
        )
        producer = await client.create_producer(invoices)
        count = 0
        while messages := await consumer.receive_many(100, timeout_s=1.0):
            try:
                async with client.transaction(timeout_s=30) as txn:
                    await producer.send_many([invoice_of(each) for each in messages], txn=txn)
                    consumer.acknowledge(messages, txn=txn)
            except TransactionAborted as error:
                print(f"again: {error}")  # The messages come again.
            else:
                count += len(messages)
        print(f"{count} invoices")


if __name__ == "__main__":
    url = sys.argv[1] if len(sys.argv) > 1 else "pulsar://localhost:6650"
    asyncio.run(main(url, *(sys.argv[2:4] or ("orders", "invoices"))))
