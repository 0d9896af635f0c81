"""One worker of the bank: does transfers, each in a transaction, until it is killed.

    python bank.py SERVICE_URL PREFIX

A transfer is ``id:from:to:amount`` in the topic ``PREFIX-transfers``. It is done by two messages,
to the topics of both accounts: ``id:account:change``.
"""

import asyncio
import sys

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.errors import MagnetarError

TOPICS = 8
TOGETHER = 5  # Transfers in one transaction.
TIMEOUT_S = 4.0  # A worker that was killed holds its topics up for so long.


async def main(service_url, prefix):
    async with Client(service_url, backoff_first_s=0.05, backoff_max_s=0.5) as client:
        consumer = await client.subscribe(
            f"{prefix}-transfers",
            "bank",
            type=SubscriptionType.SHARED,
            initial_position=InitialPosition.EARLIEST,
            receiver_queue_size=2 * TOGETHER,
        )
        producers = [
            await client.create_producer(f"{prefix}-{number}", batch_delay_s=0.001)
            for number in range(TOPICS)
        ]
        while True:
            transfers = await consumer.receive_many(TOGETHER)
            try:
                async with client.transaction(timeout_s=TIMEOUT_S) as txn:
                    consumer.acknowledge(transfers, txn=txn)
                    await asyncio.gather(
                        *(
                            producers[int(account) % TOPICS].send(
                                f"{name}:{account}:{change}".encode(), txn=txn
                            )
                            for name, account, change in changes(transfers)
                        )
                    )
            except MagnetarError as error:
                print(f"not done: {error!r}", file=sys.stderr)


def changes(transfers):
    for transfer in transfers:
        name, giver, taker, amount = transfer.data.decode().split(":")
        yield name, giver, -int(amount)
        yield name, taker, int(amount)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
