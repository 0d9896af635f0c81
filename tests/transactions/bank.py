"""One worker of the bank: does transfers in transactions, until it is killed.

It ends with its input, too, so that it does not outlive a test.

    python bank.py SERVICE_URL PREFIX

A transfer is ``id:from:to:amount`` in the topic ``PREFIX-transfers``. It is done by two messages,
to the topics of both accounts: ``id:account:change``; refused if it is of more than ``LIMIT``.
What became of a transaction is one line: ``done``, ``unknown`` or ``failed`` for those that were to
be committed, ``refused``, ``aborted`` or ``late`` for those that were not; and the ids in it.
``Bank.java`` does the same.
"""

import asyncio
import os
import random
import sys
import threading

from magnetar import Client, InitialPosition, SubscriptionType
from magnetar.errors import CommitUnknown, MagnetarError, TransactionAborted

TOPICS = 8
LIMIT = 90
TOGETHER = 5  # Transfers in one transaction.
TIMEOUT_S = 4.0  # A worker that was killed holds its topics up for so long.
LATE_S = 1.0
ABORTED, LATE = 0.05, 0.01  # How many transactions are aborted first, or let time out.


class Worker:
    """It reads transfers, and does, refuses or first forgets them."""

    def __init__(self, client, consumer, producers):
        self._client, self._consumer, self._producers = client, consumer, producers

    async def do(self, transfers):
        """Raise MagnetarError when a broker was away; then they come again."""
        refused = [each for each in transfers if each[3] > LIMIT]
        if refused:
            txn = await self._client.transaction(TIMEOUT_S)
            await self._send(refused, txn)
            await txn.abort()
            say("refused", refused)
        chance = random.random()
        if chance < ABORTED:
            txn = await self._begun(transfers)
            await txn.abort()
            say("aborted", transfers)
        elif chance < ABORTED + LATE:
            await self._do_late(transfers)
        else:
            txn = await self._begun(transfers)
            await txn.commit()
            say("done", transfers)

    async def _do_late(self, transfers):
        txn = await self._begun(transfers, LATE_S)
        await asyncio.sleep(1.5 * LATE_S)  # Its coordinator ends it, and tells nobody.
        try:
            await txn.commit()
        except TransactionAborted:
            say("late", transfers)

    async def _begun(self, transfers, timeout_s=TIMEOUT_S):
        """A transaction with all in it that does the transfers, and refuses some."""
        txn = await self._client.transaction(timeout_s)
        self._consumer.acknowledge([message for *_, message in transfers], txn=txn)
        await self._send([each for each in transfers if each[3] <= LIMIT], txn)
        return txn

    async def _send(self, transfers, txn):
        await asyncio.gather(
            *(
                self._producers[account % TOPICS].send(
                    f"{name}:{account}:{change}".encode(), txn=txn
                )
                for name, giver, taker, amount, _ in transfers
                for account, change in ((giver, -amount), (taker, amount))
            )
        )


def say(outcome, transfers):
    print(outcome, *(each[0] for each in transfers), flush=True)


async def main(service_url, prefix):
    async with Client(
        service_url, first_connection_timeout_s=60, backoff_first_s=0.05, backoff_max_s=0.5
    ) as client:
        consumer = await client.subscribe(
            f"{prefix}-transfers",
            "bank",
            type=SubscriptionType.SHARED,
            initial_position=InitialPosition.EARLIEST,
            receiver_queue_size=2 * TOGETHER,
            negative_ack_delay_s=0.5,
        )
        producers = [
            await client.create_producer(f"{prefix}-{number}", batch_delay_s=0.001)
            for number in range(TOPICS)
        ]
        worker = Worker(client, consumer, producers)
        while True:
            messages = await consumer.receive_many(TOGETHER)
            texts = [message.data.decode().split(":") for message in messages]
            transfers = [
                (*map(int, text), message) for text, message in zip(texts, messages, strict=True)
            ]
            try:
                await worker.do(transfers)
            except MagnetarError as error:
                print(f"not done: {error!r}", file=sys.stderr)
                say("unknown" if isinstance(error, CommitUnknown) else "failed", transfers)
                consumer.negative_acknowledge(messages)


def end_with_input():
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    asyncio.run(main(*sys.argv[1:]))
