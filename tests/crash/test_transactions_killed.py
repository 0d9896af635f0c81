"""A broker that is killed between any two steps of a transaction keeps what it has answered.

An end that was answered is carried out. One that was not is carried out or not, and whoever asks
again is answered. What was only begun, and has no part anywhere, may be gone. SIGKILL ends a
process, not a machine: what it had written reaches the disk.
"""

import asyncio
import json
import random
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from support.loop import iterations, until
from unit.broker.peer import Peer

from magnetar import Client, InitialPosition
from magnetar.client.transaction import TransactionState
from magnetar.errors import CommitUnknown, TransactionAborted
from magnetar.model.system_topics import COORDINATORS
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.testing.processes import BrokerProcess

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

# A send whose receipt was lost is sent again, in its transaction too: only deduplication knows it.
SETTINGS = {"transactionCoordinatorEnabled": True, "brokerDeduplicationEnabled": True}
TOPIC = "persistent://public/default/t"
SUBSCRIPTION = "s"
TTL_MS = 600_000


class Work:
    """One transaction, step by step, with a broker that is killed in between."""

    def __init__(self, broker):
        self.broker = broker
        self.peer = None
        self.number = None

    async def connect(self):
        self.close()
        self.peer = await Peer.open(self.broker.port)
        await self.peer.ask("lookupTopic", topic=str(COORDINATORS.partition(0)), request_id=1)
        await self.peer.ask("tcClientConnectRequest", request_id=1, tc_id=0)

    def close(self):
        if self.peer is not None:
            self.peer.wire.abort()

    def request(self, step):
        """What a step asks: the field of the command, and what is in it."""
        ids = {"request_id": 9, "txnid_most_bits": 0, "txnid_least_bits": self.number or 0}
        subscription = pb.Subscription(topic=TOPIC, subscription=SUBSCRIPTION)
        return {
            "begin": ("newTxn", {"request_id": 9, "tc_id": 0, "txn_ttl_millis": TTL_MS}),
            "add topic": ("addPartitionToTxn", {"partitions": [TOPIC], **ids}),
            "add subscription": ("addSubscriptionToTxn", {"subscription": [subscription], **ids}),
            "commit": ("endTxn", {"txn_action": pb.COMMIT, **ids}),
            "abort": ("endTxn", {"txn_action": pb.ABORT, **ids}),
        }[step]

    async def do(self, step):
        field, values = self.request(step)
        answer = await self.peer.ask(field, **values)
        said = getattr(answer, f"{field}Response")
        if step == "begin":
            self.number = said.txnid_least_bits
        return said

    async def ask_and_kill(self, step, after_s):
        """Kill it before, while or after it does what it is asked, and tell nobody the answer."""
        field, values = self.request(step)
        self.peer.tell(field, **values)
        await asyncio.sleep(after_s)
        self.broker.kill()

    def metadata(self):
        """What an administrator sees of the transaction; None where there is none."""
        url = f"{self.broker.web_url}/admin/v3/transactions/transactionMetadata/0/{self.number}"
        try:
            with urlopen(url) as answer:
                return json.load(answer)
        except HTTPError as error:
            if error.code != 404:
                raise
            return None


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with BrokerProcess(tmp_path_factory.mktemp("killed") / "data", settings=SETTINGS) as running:
        yield running


@pytest.fixture
async def work(broker):
    made = Work(broker)
    yield made
    made.close()
    await iterations(2)  # The loop sees that the connection is closed.


STEPS = ("begin", "add topic", "add subscription", "commit")


@pytest.mark.parametrize("end", ["commit", "abort"])
@pytest.mark.parametrize("done", range(1, len(STEPS) + 1))
async def test_what_was_answered_before_a_kill_is_there(broker, work, done, end):
    await work.connect()
    steps = [*STEPS[:-1], end][:done]
    for step in steps:
        said = await work.do(step)
        assert not said.HasField("error"), (step, said)
    broker.kill()
    broker.start()
    await work.connect()
    seen = work.metadata()
    if end in steps:
        assert seen is None
    elif seen is None:
        assert steps == ["begin"]  # That is not waited for: it counts as aborted.
        assert (await work.do(end)).error == pb.TransactionNotFound
        return
    else:
        assert seen["status"] == "OPEN"
        assert list(seen["producedPartitions"]) == [TOPIC] * ("add topic" in steps)
        acknowledged = {TOPIC: [SUBSCRIPTION]} if "add subscription" in steps else {}
        assert {topic: list(names) for topic, names in seen["ackedPartitions"].items()} == (
            acknowledged
        )
    # Whoever had no answer, or had one and lost it, asks again.
    said = await work.do(end)
    assert not said.HasField("error"), said
    assert work.metadata() is None


@pytest.mark.parametrize("after_s", [0.0, 0.001, 0.003, 0.01])
@pytest.mark.parametrize("step", STEPS)
async def test_what_was_not_answered_before_a_kill_can_be_asked_again(broker, work, step, after_s):
    await work.connect()
    for each in STEPS[: STEPS.index(step)]:
        await work.do(each)
    await work.ask_and_kill(step, after_s)
    broker.start()
    await work.connect()
    if step != "begin" and work.metadata() is None:
        assert step in ("add topic", "commit")
        if step == "add topic":
            await work.do("begin")  # What was only begun counts as aborted.
    for each in STEPS[STEPS.index(step) :]:
        said = await work.do(each)
        assert not said.HasField("error"), (each, said)
    assert work.metadata() is None


async def test_no_number_is_given_to_two_transactions(broker, work):
    numbers = []
    for _ in range(4):
        await work.connect()
        for _ in range(20):
            await work.do("begin")
            numbers.append(work.number)
            await work.do("commit")
        broker.kill()
        broker.start()
    assert len(set(numbers)) == len(numbers)


KILLS = 5
BOTH = [f"persistent://public/default/both-{number}" for number in range(2)]


async def publish(client, stop, committed, unknown):
    """Send each number to both topics in a transaction, until it is time to stop."""
    producers = [await client.create_producer(topic) for topic in BOTH]
    number = 0
    while not stop.is_set():
        with suppress(TransactionAborted, CommitUnknown):
            async with client.transaction(timeout_s=20) as txn:
                for producer in producers:
                    await producer.send(b"%d" % number, txn=txn)
        if txn.state is TransactionState.COMMITTED:
            committed.add(number)
        elif txn.state is TransactionState.UNKNOWN:
            unknown.add(number)
        number += 1


async def read(client, topic, wanted):
    """The numbers of a topic, until all those that must come have come."""
    consumer = await client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
    found = []
    while not wanted <= set(found):
        found.append(int((await consumer.receive(timeout_s=30)).data))
    await consumer.close()
    return found


async def test_what_is_published_is_in_both_topics_or_in_none_over_kills(broker):
    committed, unknown, stop = set(), set(), asyncio.Event()
    async with Client(broker.service_url, operation_timeout_s=30) as client:
        async with asyncio.TaskGroup() as group:
            group.create_task(publish(client, stop, committed, unknown))
            for _ in range(KILLS):
                enough = len(committed) + 5
                await until(lambda: len(committed) >= enough)  # noqa: B023 - it is awaited here
                await asyncio.sleep(random.random() * 0.02)
                await asyncio.to_thread(broker.kill)
                await asyncio.to_thread(broker.start)
            stop.set()
        for topic in BOTH:
            found = await read(client, topic, committed)
            assert len(found) == len(set(found))
            assert set(found) <= committed | unknown
    assert len(committed) >= 5 * KILLS
