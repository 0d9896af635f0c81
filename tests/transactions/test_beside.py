"""What else a topic does, beside transactions: what is open is left alone, what is aborted is not.

A topic has ``a``, then ``b`` of a transaction that was committed, ``c`` of one that was aborted,
``d``, and behind it ``e`` of one that is open, and ``f``. Its entries are these and two markers.
"""

from contextlib import asynccontextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from support.admin import ask
from support.draining import data, drained
from support.elsewhere import until_elsewhere
from transactions.enabled import SETTINGS

from magnetar import EARLIEST_MESSAGE, Client, InitialPosition
from magnetar.testing.local_broker import BrokerThread

UNTOLD = "the broker in its thread does that in its own time"
VISIBLE, HIDDEN = [b"a", b"b", b"d"], [b"e", b"f"]
SHORT_LEDGERS = {
    "managedLedgerMaxEntriesPerLedger": 2,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    "defaultRetentionTimeInMinutes": -1,
    "defaultRetentionSizeInMB": -1,
    "managedLedgerOffloadDriver": "filesystem",
    "managedLedgerOffloadDeletionLagMs": 0,
}


class Filled:
    """A topic with all that, and a subscription that has got nothing yet."""

    def __init__(self, broker, client, topic):
        self.broker = broker
        self.client = client
        self.topic = topic
        self.path = topic.replace("://", "/")
        self.ids = {}
        self.open = None

    async def fill(self, producer):
        async def send(letter, txn=None):
            sent = await producer.send(letter.encode(), key="k" + letter, txn=txn)
            self.ids[letter] = sent

        await send("a")
        for letter, commit in (("b", True), ("c", False)):
            txn = await self.client.transaction()
            await send(letter, txn)
            await (txn.commit() if commit else txn.abort())
        await send("d")
        self.open = await self.client.transaction()
        await send("e", self.open)
        await send("f")

    def ask(self, method, path, value=None):
        return ask(self.broker, method, f"{self.path}/{path}", value)

    @property
    def backlog(self):
        return self.ask("GET", "stats")["subscriptions"]["s"]["msgBacklog"]

    async def subscribe(self):
        options = {"initial_position": InitialPosition.EARLIEST}
        return await self.client.subscribe(self.topic, "s", **options)

    async def read(self):
        """What a reader of all of it gets."""
        found = []
        async with self.client.create_reader(self.topic, EARLIEST_MESSAGE) as reader:
            while await reader.has_message_available():
                found += await reader.receive_many(timeout_s=20)
        return data(found)


@asynccontextmanager
async def filled(broker, topic):
    async with Client(broker.service_url) as client:
        made = Filled(broker, client, topic)
        await (await made.subscribe()).close()
        await made.fill(await client.create_producer(topic, batching=False))
        yield made


@pytest.fixture
async def those(broker, topic):
    async with filled(broker, topic) as made:
        yield made


async def test_readers_end_before_what_is_open(those):
    assert await those.read() == VISIBLE
    consumer = await those.subscribe()
    assert (await consumer.last_message_id()).position == those.ids["d"].position
    await those.open.commit()
    assert await those.read() == VISIBLE + HIDDEN
    assert (await consumer.last_message_id()).position == those.ids["f"].position


@pytest.mark.parametrize(
    ("letter", "expected"),
    [("a", VISIBLE + HIDDEN), ("c", [b"d", *HIDDEN]), ("e", HIDDEN), ("f", [b"f"])],
)
async def test_a_seek_to_whatever_lets_nobody_see_more(those, letter, expected):
    consumer = await those.subscribe()
    assert data(await drained(consumer, 3)) == VISIBLE
    await consumer.seek(those.ids[letter])
    await those.open.commit()
    assert data(await drained(consumer, len(expected))) == expected


async def test_a_seek_to_a_time_goes_to_the_first_message_of_it(those):
    consumer = await those.subscribe()
    assert data(await drained(consumer, 3)) == VISIBLE
    await consumer.seek_time(0)
    assert data(await drained(consumer, 3)) == VISIBLE
    await those.open.abort()
    assert data(await drained(consumer, 1)) == [b"f"]


async def test_messages_expire_up_to_what_is_open(those):
    def expired():
        ask(those.broker, "POST", f"{those.path}/subscription/s/expireMessages/1")
        return those.backlog == len(HIDDEN)

    await until_elsewhere(expired, UNTOLD)
    await those.open.commit()
    assert data(await drained(await those.subscribe(), 2)) == HIDDEN


async def test_eviction_ends_before_what_is_open(topic):
    settings = {**SETTINGS, "backlogQuotaCheckIntervalInSeconds": 1}
    quota = {"limitSize": 1, "policy": "consumer_backlog_eviction"}
    with BrokerThread(settings=settings) as broker:
        async with filled(broker, topic) as those:
            path = "backlogQuota?backlogQuotaType=destination_storage"
            those.ask("POST", path, quota)
            await until_elsewhere(lambda: those.backlog == len(HIDDEN), UNTOLD)
            await those.open.commit()
            assert data(await drained(await those.subscribe(), 2)) == HIDDEN


async def test_the_browser_shows_what_readers_get_and_an_analysis_counts_all(those):
    def browsed():
        page = those.ask("GET", "messages?from=earliest")["messages"]
        return [one["value"].encode() for one in page if "marker" not in one]

    assert browsed() == VISIBLE
    counted = those.ask("POST", "subscription/s/analyzeBacklog")
    assert (counted["entries"], counted["messages"]) == (8, 8)
    assert those.backlog == 8
    await those.open.commit()
    assert browsed() == VISIBLE + HIDDEN


async def test_who_peeks_is_told_of_each_entry_what_readers_get_of_it(those):
    def peeked(number):
        path = f"{those.path}/subscription/s/position/{number}"
        with urlopen(f"{those.broker.web_url}/admin/v2/{path}", timeout=20) as answer:
            headers = answer.headers
            if "X-Pulsar-marker-type" in headers:
                return "marker"
            said = headers["X-Pulsar-txn-aborted"], headers["X-Pulsar-txn-uncommitted"]
            return answer.read(), *said

    assert [peeked(number) for number in range(1, 9)] == [
        (b"a", None, "false"),
        (b"b", "false", "false"),
        "marker",
        (b"c", "true", "false"),
        "marker",
        (b"d", None, "false"),
        (b"e", "false", "true"),
        (b"f", None, "true"),
    ]
    with pytest.raises(HTTPError, match="404"):
        peeked(9)


async def test_compaction_keeps_what_was_committed_before_what_is_open(those):
    those.ask("PUT", "compaction")
    await until_elsewhere(lambda: those.ask("GET", "compaction")["status"] == "SUCCESS", UNTOLD)
    found = []
    options = {"read_compacted": True}
    async with those.client.create_reader(those.topic, EARLIEST_MESSAGE, **options) as reader:
        while await reader.has_message_available():
            found += await reader.receive_many(timeout_s=20)
        assert data(found) == VISIBLE
        await those.open.commit()
        assert data(await drained(reader, 2)) == HIDDEN


async def test_ledgers_are_offloaded_up_to_what_is_open_and_read_without_what_is_aborted(
    topic, tmp_path
):
    settings = {**SETTINGS, **SHORT_LEDGERS, "fileSystemURI": tmp_path.as_uri()}
    with BrokerThread(settings=settings) as broker:
        async with filled(broker, topic) as those:
            producer = await those.client.create_producer(topic, batching=False)
            for _ in range(3):
                await producer.send(b"more")  # So that the ledgers of all that have ended.

            def copied():
                ledgers = those.ask("GET", "internalStats")["ledgers"]
                last = {"ledgerId": ledgers[-1]["ledgerId"], "entryId": 0}
                ids = [each["ledgerId"] for each in ledgers if each["offloaded"]]
                return last, ids

            last, _ = copied()
            of_open = those.ids["e"].position.ledger_id
            before = {those.ids[letter].position.ledger_id for letter in "abcd"} - {of_open}
            those.ask("PUT", "offload", last)
            await until_elsewhere(lambda: before <= set(copied()[1]), UNTOLD)
            assert of_open not in copied()[1]
            assert await those.read() == VISIBLE
            await those.open.abort()
            those.ask("PUT", "offload", last)
            await until_elsewhere(lambda: of_open in copied()[1], UNTOLD)
            assert await those.read() == [*VISIBLE, b"f", b"more", b"more", b"more"]
