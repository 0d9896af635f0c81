"""Ledgers whose ids have more than 31 bits, from the bookies up to what operators are shown."""

import json
import urllib.request

import pulsar
import pytest
from kazoo.client import KazooClient
from support.bookkeeper import bookkeeper_store, others_say
from unit.storage.ledger.local.support import append, everything, run

from magnetar.storage.ledger.bookkeeper.ledger_paths import path_of
from magnetar.testing.processes import BrokerProcess

TOPIC = "persistent://public/default/t"

pytestmark = pytest.mark.slow


@pytest.fixture
def long_ids(cluster):
    """The cluster, after an operator has said that ids are long."""
    client = KazooClient(cluster.zookeeper.address)
    client.start()
    client.create("/ledgers/idgen-long")
    yield cluster
    client.delete("/ledgers/idgen-long", recursive=True)
    client.stop()
    client.close()


async def test_bookkeepers_own_client_and_ours_read_what_the_other_wrote_and_count_on(long_ids):
    async with bookkeeper_store(long_ids) as store:
        ours = await store.create()
        assert ours.ledger_id == 2**32
        await append(ours, *run(*(b"entry %d" % n for n in range(20))))
        asked = (f"recover={ours.ledger_id}", "write=50")
        _, *shown, wrote = await others_say(long_ids, *asked)
        assert shown == [f"{n} entry {n}" for n in range(20)]
        reader = await store.open(ours.ledger_id)
        assert await everything(reader) == [b"entry %d" % n for n in range(20)]
        ledger_id = int(wrote.removeprefix("wrote "))
        assert ledger_id == ours.ledger_id + 1
        assert await everything(await store.open(ledger_id)) == [b"entry %d" % n for n in range(50)]
        assert (await store.create()).ledger_id == ledger_id + 1
        await store.delete(ledger_id)
    client = KazooClient(long_ids.zookeeper.address)
    client.start()
    assert client.exists(f"/ledgers{path_of(ledger_id)}") is None
    assert client.exists(f"/ledgers{path_of(ours.ledger_id)}") is not None
    client.stop()
    client.close()


def test_a_broker_goes_on_with_them_after_it_was_stopped(long_ids, tmp_path):
    settings = {
        "metadataStoreUrl": f"zk:{long_ids.zookeeper.address}/{tmp_path.name}",
        "bookkeeperMetadataServiceUri": long_ids.metadata_service_uri,
        "managedLedgerMaxEntriesPerLedger": 10,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    }
    broker = BrokerProcess(tmp_path / "none", settings=settings)
    broker.start()
    client = pulsar.Client(broker.service_url, operation_timeout_seconds=30)
    try:
        consumer = client.subscribe(TOPIC, "s")
        producer = client.create_producer(TOPIC)
        sent = [producer.send(b"%d" % number) for number in range(25)]
        ledgers = sorted({each.ledger_id() for each in sent})
        assert len(ledgers) == 3
        assert ledgers[0] >= 2**32
        received = [consumer.receive(20_000) for _ in range(25)]
        assert [each.message_id().ledger_id() for each in received] == [
            each.ledger_id() for each in sent
        ]
        for message in received[:5] + received[12:]:
            consumer.acknowledge(message)
        consumer.close()  # Which sends what is acknowledged.
        assert broker.terminate() == 0
        broker.start()
        consumer = client.subscribe(TOPIC, "s")
        left = sorted(int(consumer.receive(20_000).data()) for _ in range(7))
        assert left == [5, 6, 7, 8, 9, 10, 11]
        consumer.seek(sent[20])
        assert int(consumer.receive(20_000).data()) == 21  # Theirs begins behind it.
        path = f"{broker.web_url}/admin/v2/persistent/public/default/t/internalStats"
        with urllib.request.urlopen(path, timeout=30) as answer:
            stats = json.load(answer)
        assert {each["ledgerId"] for each in stats["ledgers"]} & set(ledgers)
        at = stats["cursors"]["s"]["markDeletePosition"].partition(":")[0]
        assert int(at) >= 2**32
        client.close()
    finally:
        broker.stop()
