"""Ledgers that nobody lists, at real bookies: those go, and no others."""

import asyncio
import json

import pulsar
import pytest
from click.testing import CliRunner
from pulsar.schema import StringSchema
from support.bookkeeper import bookkeeper_store, session
from support.clusters import cluster_in, only_on_request

from bench.bookkeeper_cluster import conf_text
from magnetar import Client
from magnetar.clock import SystemClock
from magnetar.errors import LedgerNotFound
from magnetar.inner import checksum
from magnetar.model.position import Position
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.ledger_list import LedgerListRecord
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.appending import append_durably
from magnetar.storage.ledger.bookkeeper.janitor import Janitor
from magnetar.storage.ledger.store import LedgerOptions
from magnetar.storage.managed_ledger.settings import ledger_metadata
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.processes import BrokerProcess
from magnetar.tools import cluster as tool
from magnetar.tools.cli import magnetar as cli

pytestmark = pytest.mark.slow

COUNT = 35
TOPIC = "persistent://public/default/t"
LOG = "public/default/persistent/t"
SCHEMA = {"application": b"pulsar", "component": b"schema", "pulsar/schemaId": b"public/default/t"}
LEFT = (ledger_metadata(LOG), ledger_metadata(LOG, "s"), SCHEMA)
"""What a broker that was killed may have begun and not listed."""
OTHERS = (
    {},
    {"application": b"another", "component": b"managed-ledger"},
    {"application": b"pulsar", "component": b"of a later version"},
    {"application": b"pulsar", "component": b"schema"},
    ledger_metadata("tenant/cluster/namespace/persistent/t"),
)
"""What nobody here knows whose it is."""


class InTwoDays(SystemClock):
    def wall_ms(self):
        return super().wall_ms() + 2 * 24 * 3_600_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Bookies that no other test has ledgers at."""
    only_on_request()
    with cluster_in(tmp_path_factory.mktemp("bookies"), bookies=2) as bookies:
        yield bookies


@pytest.fixture
def settings(cluster):
    return {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/here",
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        "metadataStoreSessionTimeoutMillis": 4000,
        "managedLedgerMaxEntriesPerLedger": 10,
        "managedLedgerMinLedgerRolloverTimeMinutes": 0,
    }


async def leave(cluster):
    """Ledgers that nobody lists, one of them with an entry, without an end."""
    left, others = [], []
    async with bookkeeper_store(cluster) as store:
        for number, custom in enumerate((*LEFT, *OTHERS)):
            writer = await store.create(LedgerOptions(metadata=custom))
            if number != 1:
                await append_durably(writer, [b"x"], [checksum(b"x")])
            store._writers.clear()  # As of a process that is killed: nothing ends them.
            (left if number < len(LEFT) else others).append(writer.ledger_id)
    return set(left), set(others)


async def there(cluster, ledger_ids):
    found = set()
    async with bookkeeper_store(cluster) as store:
        for each in ledger_ids:
            try:
                await store.metadata_of(each)
            except LedgerNotFound:
                continue
            found.add(each)
    return found


def use(broker):
    """Have a topic with some ledgers, a cursor with holes and a schema."""
    client = pulsar.Client(broker.service_url)
    consumer = client.subscribe(TOPIC, "s", pulsar.ConsumerType.Shared, schema=StringSchema())
    producer = client.create_producer(TOPIC, schema=StringSchema(), batching_enabled=False)
    for number in range(COUNT):
        producer.send(f"{number}")
    for number in range(COUNT):
        message = consumer.receive(20_000)
        if number % 2:
            consumer.acknowledge(message)
    client.close()


async def read_all(broker):
    async with Client(broker.service_url) as client, client.create_reader(TOPIC) as reader:
        return [int((await reader.receive()).data) for _ in range(COUNT)]


def run(conf, *options):
    done = CliRunner().invoke(
        cli, ["cluster", "janitor", "--conf", str(conf), "-o", "json", *options]
    )
    return done, json.loads(done.stdout) if done.exit_code == 0 else None


def test_ledgers_that_nobody_lists_go_and_no_others(cluster, settings, tmp_path, monkeypatch):
    conf = tmp_path / "broker.conf"
    conf.write_text(conf_text(settings))
    with BrokerProcess(tmp_path / "none", settings=settings) as broker:
        use(broker)
        broker.kill()
    left, others = asyncio.run(leave(cluster))
    assert not left & {row["ledger"] for row in run(conf)[1]}  # They are young.
    monkeypatch.setattr(tool, "SystemClock", InTwoDays)
    rows = {row["ledger"]: row for row in run(conf)[1]}
    assert {rows[each]["state"] for each in left} == {"open"}
    assert {rows[each]["for"] for each in left} == {"managed-ledger", "schema"}
    assert f"{LOG} s" in {rows[each]["of"] for each in left}
    assert asyncio.run(there(cluster, left | others)) == left | others
    assert rows.keys() == left
    refused, _ = run(conf, "--delete")
    assert (refused.exit_code, "--alone" in str(refused.exception)) == (1, True)
    _, gone = run(conf, "--delete", "--alone")
    assert {row["ledger"]: row["done"] for row in gone} == dict.fromkeys(left, "deleted")
    assert asyncio.run(there(cluster, left | others)) == others
    assert run(conf)[1] == []
    with BrokerProcess(tmp_path / "none", settings=settings) as broker:
        assert asyncio.run(read_all(broker)) == list(range(COUNT))


async def test_what_compaction_may_name_stays(cluster, settings):
    """Its cursor has a position in a ledger, and there the name of what is compacted."""
    topic = "public/default/persistent/c"
    custom = ledger_metadata(topic, "__compaction")
    pulsars = {
        "component": b"compacted-ledger",
        "pulsar/compactedTopic": TOPIC[:-1].encode() + b"c",
    }
    here = settings["metadataStoreUrl"].removeprefix("zk:")
    records = await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers=here))
    async with session(cluster) as metadata, bookkeeper_store(cluster) as store:
        made = set()
        for each in (custom, {**pulsars, "application": b"pulsar"}):
            writer = await store.create(LedgerOptions(metadata=each))
            await writer.close()
            made.add(writer.ledger_id)
        janitor = Janitor(store, metadata, records, "/ledgers")
        for kept_in, stay in ((5, True), (None, False)):
            state = CursorState(Position(1, 1), kept_in=kept_in)
            value = PulsarCodec().encode_cursor(state, name="__compaction")
            await records.put(f"/managed-ledgers/{topic}/__compaction", value)
            found = {each.ledger_id for each in await janitor.find(InTwoDays().wall_ms())}
            assert made & found == (set() if stay else made)
        left = [
            each for each in await janitor.find(InTwoDays().wall_ms()) if each.ledger_id in made
        ]
        assert await janitor.delete(left) == {}
    await records.close()


async def test_what_is_listed_or_changed_meanwhile_stays(cluster, settings):
    left, _ = await leave(cluster)
    here = settings["metadataStoreUrl"].removeprefix("zk:")
    records = await ZooKeeperMetadataStore.open(ZooKeeperSettings(servers=here))
    async with session(cluster) as metadata, bookkeeper_store(cluster) as store:
        janitor = Janitor(store, metadata, records, "/ledgers")
        found = [
            each for each in await janitor.find(InTwoDays().wall_ms()) if each.ledger_id in left
        ]
        listed, *_ = sorted(left)
        await records.put(
            f"/managed-ledgers/{LOG}",
            PulsarCodec().encode_ledger_list(LedgerListRecord(open_id=listed)),
        )
        assert await janitor.delete(found) == {listed: "it is listed now"}
    await records.close()
    assert await there(cluster, left) == {listed}
