"""The verbs about transactions, of a broker that coordinates some."""

import asyncio
import json

import pytest
from click.testing import CliRunner

from magnetar import Client
from magnetar.client import blocking
from magnetar.errors import MagnetarError, Refused
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.admin.command import admin


@pytest.fixture(scope="module")
def broker():
    settings = {"transactionCoordinatorEnabled": True}
    with BrokerThread(settings=settings) as running:
        yield running


def asked(broker, line):
    words = ["--admin-url", broker.web_url, *line.split(), "-o", "json"]
    done = CliRunner().invoke(admin, words)
    if isinstance(done.exception, MagnetarError):
        raise done.exception
    assert done.exit_code == 0, (words, done.output, done.exception)
    return json.loads(done.output) if done.output.strip() else None


def test_a_transaction_is_found_looked_at_and_aborted(broker):
    async def begin():
        async with Client(broker.service_url) as client:
            producer = await client.create_producer("orders")
            consumer = await client.subscribe("orders", "billing")
            await producer.send(b"one")
            message = await consumer.receive()
            txn = await client.transaction(timeout_s=600)
            await producer.send(b"two", txn=txn)
            await consumer.acknowledge(message, txn=txn)
            slow = await asyncio.to_thread(asked, broker, "transactions slow-transactions -t 0s")
            ((name, found),) = slow.items()
            assert found["status"] == "OPEN"
            topic = "persistent://public/default/orders"
            assert list(found["producedPartitions"]) == list(found["ackedPartitions"]) == [topic]
            most, least = name.strip("()").split(",")
            one = f"-m {most} -l {least}"

            async def ask(line):
                return await asyncio.to_thread(asked, broker, f"transactions {line}")

            assert (await ask(f"transaction-metadata {one}"))["txnId"] == name
            stats = await ask("coordinator-stats -c 0")
            assert stats["ongoingTxnSize"] == 1
            assert (await ask("transaction-buffer-stats -t orders"))["ongoingTxnSize"] == 1
            assert (await ask("pending-ack-stats -t orders -s billing"))["ongoingTxnSize"] == 1
            at = message.message_id
            where = f"-t orders -s billing -l {at.ledger_id} -e {at.entry_id}"
            assert (await ask(f"position-stats-in-pending-ack {where}"))["state"] == "PendingAck"
            await ask(f"abort-transaction {one}")
            assert (await ask("coordinator-stats"))["0"]["ongoingTxnSize"] == 0
            assert (await ask("transaction-buffer-stats -t orders"))["ongoingTxnSize"] == 0
            assert (await ask("pending-ack-stats -t orders -s billing"))["ongoingTxnSize"] == 0

    asyncio.run(begin())


def test_there_are_more_coordinators_and_never_fewer(broker):
    asked(broker, "transactions scale-transactionCoordinators -r 2")
    assert [each["id"] for each in asked(broker, "transactions coordinators-list")] == [0, 1]
    with pytest.raises(Refused, match="should be more than the current number"):
        asked(broker, "transactions scale-transactionCoordinators -r 1")


def test_a_peek_shows_what_consumers_get(broker):
    with (
        blocking.Client(broker.service_url) as client,
        client.subscribe("peeked", "s"),
        client.create_producer("peeked") as producer,
    ):
        with client.transaction() as txn:
            producer.send(b"committed", txn=txn)
        with client.transaction() as txn:
            producer.send(b"aborted", txn=txn)
            txn.abort()
        producer.send(b"plain")
        with client.transaction() as txn:
            producer.send(b"open", txn=txn)
            for count, expected in ((1, ["committed"]), (9, ["committed", "plain"])):
                found = asked(broker, f"topics peek-messages peeked -s s -n {count}")
                assert [one["data"] for one in found] == expected
