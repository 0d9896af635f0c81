"""A broker process that a setting puts on a real ZooKeeper server and real bookies."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import pulsar
import pytest
from click.testing import CliRunner
from support.bookkeeper import bookkeeper_store

from bench.bookkeeper_cluster import conf_text
from magnetar import Client
from magnetar.broker.resources import Resources
from magnetar.errors import NotAllowed
from magnetar.model.names import NamespaceName
from magnetar.model.system_topics import COORDINATORS
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.ledger.bookkeeper.ledger_paths import check_layout
from magnetar.storage.metadata.zookeeper import ZooKeeperMetadataStore, ZooKeeperSettings
from magnetar.testing.processes import BrokerProcess
from magnetar.tools.cli import magnetar as cli

COUNT = 2000
TOPIC = "persistent://public/default/t"

pytestmark = pytest.mark.slow


@pytest.fixture
def settings(cluster, tmp_path):
    return {
        "metadataStoreUrl": f"zk:{cluster.zookeeper.address}/{tmp_path.name}",
        "bookkeeperMetadataServiceUri": cluster.metadata_service_uri,
        "metadataStoreSessionTimeoutMillis": 4000,
    }


def numbers(consumer, count):
    found = []
    for _ in range(count):
        message = consumer.receive(20_000)
        found.append(int(message.data()))
        consumer.acknowledge(message)
    return found


def test_nothing_that_was_answered_is_lost_when_it_is_killed(settings, tmp_path):
    broker = BrokerProcess(tmp_path / "none", settings=settings)
    broker.start()
    client = pulsar.Client(broker.service_url, operation_timeout_seconds=30)
    try:
        with urllib.request.urlopen(f"{broker.web_url}/admin/v2/brokers/ready") as answer:
            assert answer.read() == b"ok"
        producer = client.create_producer(TOPIC, block_if_queue_full=True, batching_enabled=True)
        answered = []
        for number in range(COUNT):
            producer.send_async(
                b"%d" % number,
                lambda result, _, number=number: answered.append((number, result)),
            )
        producer.flush()
        assert answered == [(number, pulsar.Result.Ok) for number in range(COUNT)]
        broker.kill()
        broker.start()
        consumer = client.subscribe(TOPIC, "s", initial_position=pulsar.InitialPosition.Earliest)
        assert numbers(consumer, COUNT) == list(range(COUNT))
        client.close()
        assert broker.terminate() == 0
    finally:
        broker.stop()
    assert not (tmp_path / "none").exists()


async def test_an_entry_that_no_bookie_takes_is_refused_and_the_topic_goes_on(settings, tmp_path):
    """What is sent with a message counts, too; the official client looks at it as well."""
    settings |= {"bookkeeper_nettyMaxFrameSizeBytes": 1_000_000, "maxMessageSize": 999_000}
    with BrokerProcess(tmp_path / "none", settings=settings) as broker:
        async with Client(broker.service_url) as client:
            producer = await client.create_producer(TOPIC, batching=False)
            for number, size in enumerate((998_000, 1_000_000, 1)):
                sent = producer.send(b"%d" % number, properties={"size": "x" * size})
                if number == 1:
                    with pytest.raises(NotAllowed, match="too large for a bookie"):
                        await sent
                else:
                    await sent
            async with client.create_reader(TOPIC) as reader:
                assert [(await reader.receive()).data for _ in range(2)] == [b"0", b"2"]


def test_operators_say_where_bookies_stand(cluster, settings, tmp_path):
    settings |= {"bookkeeperClientEnforceMinNumRacksPerWriteQuorum": True}
    ids = [bookie.bookie_id for bookie in cluster.bookies]
    with BrokerProcess(tmp_path / "none", settings=settings) as broker:

        def said(*words):
            done = CliRunner().invoke(cli, ["admin", "--admin-url", broker.web_url, *words])
            assert done.exit_code == 0, done.output
            return done.output

        assert [each for each in ids if each not in said("bookies", "list-bookies")] == []
        with pytest.raises(urllib.error.HTTPError, match="503"):
            urllib.request.urlopen(f"{broker.web_url}/admin/v2/brokers/health", timeout=30)
        for bookie, rack in zip(ids, ("/r1", "/r1", "/r2"), strict=True):
            set_rack = ("bookies", "set-bookie-rack", "-b", bookie, "-r", rack, "-hn", "h")
            assert "effect" not in said(*set_rack)
        assert said("bookies", "racks-placement").count("/r1") == 2
        client = pulsar.Client(broker.service_url, operation_timeout_seconds=30)
        client.create_producer(TOPIC).send(b"on two racks")
        said("bookies", "set-bookie-rack", "-b", ids[0], "-r", "/r1", "-g", "ours")
        said("bookies", "set-bookie-rack", "-b", ids[2], "-r", "/r2", "-g", "ours")
        preferred = ("--primary-group", "ours")
        assert "effect" not in said(
            "namespaces", "set-bookie-affinity-group", "public/default", *preferred
        )
        ledgers = [
            client.create_producer(f"{TOPIC}{number}").send(b"at ours").ledger_id()
            for number in range(6)
        ]
        client.close()

    async def ensembles():
        async with bookkeeper_store(cluster) as store:
            kept = [await store.metadata_of(ledger_id) for ledger_id in ledgers]
            return [set(each.last_segment.ensemble) for each in kept]

    assert asyncio.run(ensembles()) == [{ids[0], ids[2]}] * 6


def test_the_doctor_looks_at_the_cluster(settings, tmp_path):
    conf = tmp_path / "broker.conf"
    conf.write_text(conf_text(settings))

    def said(**more):
        variables = {f"PULSAR_PREFIX_{key}": value for key, value in more.items()}
        command = [sys.executable, "-m", "magnetar.tools.cli", "doctor", "-o", "json"]
        done = subprocess.run(
            [*command, "--conf", str(conf)],
            check=False,
            env={**os.environ, **variables},
            capture_output=True,
            text=True,
            timeout=60,
        )
        found = json.loads(done.stdout)
        return {each["subject"]: (each["verdict"], each["said"]) for each in found}

    assert said()["bookies"] == ("ok", "3 take writes")
    assert said()["ZooKeeper"][0] == "ok"
    verdict, text = said(managedLedgerDefaultEnsembleSize="4")["bookies"]
    assert (verdict, text) == ("wrong", "3 take writes")
    away = "zk:127.0.0.1:1"
    found = said(
        metadataStoreUrl=away,
        bookkeeperMetadataServiceUri="",
        metadataStoreOperationTimeoutSeconds="1",
    )
    assert found["ZooKeeper"][0] == "wrong"


def test_a_new_cluster_has_what_its_brokers_look_for(zookeeper, tmp_path):
    url = f"zk:{zookeeper.address}/{tmp_path.name}"
    command = ["initialize-cluster-metadata", "-c", "east", "-md", url, "-uw", "http://one:8080"]
    command += ["-ub", "pulsar://one:6650", "--default-namespace-bundle-number", "16"]
    for _ in range(2):  # What is there stays.
        done = CliRunner().invoke(cli, command)
        assert done.exit_code == 0, done.output

    async def written():
        store = await ZooKeeperMetadataStore.open(
            ZooKeeperSettings(servers=url.removeprefix("zk:"))
        )
        try:
            check_layout((await store.get("/ledgers/LAYOUT")).value)
            assert await store.children("/ledgers/available") == ["readonly"]
            resources = Resources(store, "east", codec=PulsarCodec())
            found = await resources.cluster("east")
            namespace = await resources.namespace(NamespaceName("public", "default"))
            partitions = await resources.partitions(COORDINATORS)
            resources.close()
        finally:
            await store.close()
        return found.broker_service_url, len(namespace.bundles.boundaries), partitions

    assert asyncio.run(written()) == ("pulsar://one:6650", 17, 16)
