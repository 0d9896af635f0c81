"""Transactions over topics of two brokers, while bundles are unloaded, handed over and lost.

``SEEDS=200`` tries so many; a seed that fails is in the name of its test.
"""

import os
from contextlib import suppress
from random import Random

import pytest
from cluster.conftest import two_brokers

from magnetar import Client, InitialPosition
from magnetar.client.transaction import TransactionState
from magnetar.errors import CommitUnknown, TransactionAborted
from magnetar.tasks import Tasks

SEEDS = int(os.environ.get("SEEDS", "2"))
TOPICS = [f"persistent://public/default/t{number}" for number in range(4)]
TRANSACTIONS = 20
# A send whose receipt was lost is sent again, in its transaction too: only deduplication knows it.
SETTINGS = {
    "transactionCoordinatorEnabled": True,
    "transactionCoordinators": 4,
    "brokerDeduplicationEnabled": True,
}


class Disturbance:
    """Moves bundles and ends sessions now and then, and does not wait for that."""

    def __init__(self, pair, random):
        self._pair = pair
        self._random = random
        self._tasks = Tasks("disturbance")

    def perhaps(self):
        chance = self._random.random()
        if chance < 0.05:
            self._random.choice(self._pair.sessions).expire()
        elif chance < 0.25:
            self._tasks.spawn("move", self._pair.move_one(self._random))
        assert not self._pair.served_twice()

    async def close(self):
        await self._tasks.close()


async def publish(client, random, disturbance):
    """Send each number to every topic in a transaction; return which are in, and may be in."""
    producers = [await client.create_producer(topic) for topic in TOPICS]
    committed, unknown = set(), set()
    for number in range(TRANSACTIONS):
        with suppress(TransactionAborted, CommitUnknown):
            async with client.transaction(timeout_s=30) as txn:
                for producer in producers:
                    disturbance.perhaps()
                    await producer.send(b"%d" % number, txn=txn)
                if random.random() < 0.3:
                    await txn.abort()
                disturbance.perhaps()
        if txn.state is TransactionState.COMMITTED:
            committed.add(number)
        elif txn.state is TransactionState.UNKNOWN:
            unknown.add(number)
    return committed, unknown


async def read(client, topic, wanted):
    """The numbers of a topic, until all those that must come have come."""
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    found = []
    while not wanted <= set(found):
        found.append(int((await consumer.receive(timeout_s=15)).data))
    await consumer.close()
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_a_transaction_is_whole_in_the_topics_of_both_brokers(seed):
    random = Random(seed)
    async with two_brokers(**SETTINGS) as pair:
        urls = ",".join(each.service_url.removeprefix("pulsar://") for each in pair.brokers)
        async with Client(f"pulsar://{urls}", operation_timeout_s=20) as client:
            disturbance = Disturbance(pair, random)
            committed, unknown = await publish(client, random, disturbance)
            await disturbance.close()
            for topic in TOPICS:
                found = await read(client, topic, committed)
                assert len(found) == len(set(found)), "a message came twice"
                assert set(found) <= committed | unknown
            assert committed, "nothing was committed"
            assert pair.moves, "no bundle moved"
