"""What was aborted goes nowhere, also when the broker that sends it has just begun again."""

import asyncio

from replication.test_two_clusters import TOPIC, caught_up, published, received
from support.loop import until
from support.regions import NAMESPACE, regions

from magnetar.broker.topics.features.topic_transactions import TopicTransactions
from magnetar.model.names import TopicName

OTHER = f"persistent://{NAMESPACE}/without-transactions"


async def test_nothing_is_sent_before_it_is_known_what_was_aborted(tmp_path, monkeypatch):
    settings = {"transactionCoordinatorEnabled": True, "folder": tmp_path}
    async with regions("west", "east", **settings) as (west, east):
        for topic in (TOPIC, OTHER):
            await (await east.client.subscribe(topic, "s")).close()
        await east.down()
        async with await west.client.create_producer(TOPIC) as producer:
            for number in range(6):
                transaction = await west.client.transaction()
                await producer.send(b"%d" % number, txn=transaction)
                await (transaction.abort() if number % 2 else transaction.commit())
        await published(west, OTHER, count=1)
        await west.down()
        await east.up()

        recover, began, go_on = TopicTransactions.recover, asyncio.Event(), asyncio.Event()

        async def slowly(self):
            """Learn what was stored as from a slow disk."""
            began.set()
            await go_on.wait()
            await recover(self)

        monkeypatch.setattr(TopicTransactions, "recover", slowly)
        await west.up()
        await began.wait()
        name = TopicName.parse(OTHER)
        await until(lambda: name in west.loaded and "east" in west.topic(OTHER).writer.replicators)
        await until(lambda: not west.replicator(OTHER, "east").backlog)  # There was time to send.
        go_on.set()
        await caught_up(west, east)
        await published(west, first=6, count=1)
        assert await received(east, 4) == [b"0", b"2", b"4", b"6"]
