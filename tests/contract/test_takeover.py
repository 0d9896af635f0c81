"""A cluster that changes hands: a broker of Apache Pulsar, ours on what that left, theirs again."""

import json

import pulsar
import pytest
from click.testing import CliRunner
from support.admin import ask

from bench.bookkeeper_cluster import conf_text
from bench.pulsar_on_cluster import PulsarBroker
from magnetar.testing.processes import BrokerProcess
from magnetar.tools.cli import magnetar

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

NAMESPACE = "carried/over"
ONE = f"persistent://{NAMESPACE}/one"
PARTITIONED = f"persistent://{NAMESPACE}/parted"
ODD = f"persistent://{NAMESPACE}/two words ~*"
SCHEMA = {"type": "STRING", "schema": "", "properties": {"by": "them"}}
POLICIES = {
    "messageTTL": 3600,
    "retention": {"retentionTimeInMinutes": 60, "retentionSizeInMB": 100},
    "deduplication": True,
    "maxConsumersPerTopic": 7,
}


def publish(client, topic, numbers):
    producer = client.create_producer(topic, batching_enabled=False)
    for number in numbers:
        producer.send(b"%d" % number)
    producer.close()


def receive(consumer, count):
    messages = [consumer.receive(20_000) for _ in range(count)]
    return {int(message.data()): message for message in messages}


def has_all(broker):
    """What administrators set is there."""
    assert ask(broker, "GET", "tenants/carried")["adminRoles"] == ["boss"]
    for name, value in POLICIES.items():
        assert ask(broker, "GET", f"namespaces/{NAMESPACE}/{name}") == value, name
    permissions = ask(broker, "GET", f"namespaces/{NAMESPACE}/permissions")
    assert permissions == {"alice": ["produce"]}
    bundles = ask(broker, "GET", f"namespaces/{NAMESPACE}/bundles")
    assert bundles["numBundles"] == 8
    parted = f"persistent/{NAMESPACE}/parted/partitions"
    assert ask(broker, "GET", parted)["partitions"] == 3
    assert set(ask(broker, "GET", f"persistent/{NAMESPACE}")) >= {
        ONE,
        ODD,
        f"{PARTITIONED}-partition-2",
    }
    assert set(ask(broker, "GET", f"persistent/{NAMESPACE}/one/subscriptions")) == {"s"}
    schema = ask(broker, "GET", f"schemas/{NAMESPACE}/one/schema")
    assert (schema["version"], schema["type"], schema["properties"]) == (
        0,
        "STRING",
        {"by": "them"},
    )


def test_topics_and_policies_are_carried_over_and_back(pulsar_cluster, tmp_path):
    with PulsarBroker(tmp_path / "theirs", pulsar_cluster) as theirs:
        name = ask(theirs, "GET", "clusters")[0]
        tenant = {"adminRoles": ["boss"], "allowedClusters": [name]}
        ask(theirs, "PUT", "tenants/carried", tenant)
        ask(theirs, "PUT", f"namespaces/{NAMESPACE}", {"bundles": {"numBundles": 8}})
        for key, value in POLICIES.items():
            ask(theirs, "POST", f"namespaces/{NAMESPACE}/{key}", value)
        ask(theirs, "POST", f"namespaces/{NAMESPACE}/permissions/alice", ["produce"])
        ask(theirs, "PUT", f"persistent/{NAMESPACE}/parted/partitions", 3)
        client = pulsar.Client(theirs.service_url)
        consumer = client.subscribe(ONE, "s", pulsar.ConsumerType.Shared)
        publish(client, ONE, range(100))
        publish(client, PARTITIONED, range(30))
        odd = client.subscribe(ODD, "s ~*")
        publish(client, ODD, range(5))
        odd.acknowledge_cumulative(receive(odd, 3)[2])
        odd.close()
        ask(theirs, "POST", f"schemas/{NAMESPACE}/one/schema", SCHEMA)
        found = receive(consumer, 100)
        for number in [*range(20), 40, 41, 60]:  # With holes.
            consumer.acknowledge(found[number])
        consumer.close()
        client.close()
        has_all(theirs)
        theirs.stop()
    settings = {
        "metadataStoreUrl": f"zk:{pulsar_cluster.zookeeper.address}",
        "clusterName": name,
        "metadataStoreSessionTimeoutMillis": 4000,
    }
    conf = tmp_path / "broker.conf"
    conf.write_text(conf_text(settings))
    checked = CliRunner().invoke(magnetar, ["cluster", "check", "--conf", str(conf), "-o", "json"])
    assert json.loads(checked.output) == []
    left = set(range(20, 100)) - {40, 41, 60}
    with BrokerProcess(tmp_path / "ours", settings=settings) as ours:
        has_all(ours)
        client = pulsar.Client(ours.service_url)
        consumer = client.subscribe(ONE, "s", pulsar.ConsumerType.Shared)
        found = receive(consumer, len(left))
        assert set(found) == left
        for number in range(20, 50):
            if number in found:
                consumer.acknowledge(found[number])
        consumer.acknowledge(found[99])
        publish(client, ONE, range(100, 150))
        odd = client.subscribe(ODD, "s ~*")
        odd.acknowledge(receive(odd, 2)[3])
        client.subscribe(ONE, "t", schema=pulsar.schema.StringSchema()).unsubscribe()
        publish(client, PARTITIONED, range(30, 60))
        parted = client.subscribe(
            PARTITIONED, "p", initial_position=pulsar.InitialPosition.Earliest
        )
        assert set(receive(parted, 60)) == set(range(60))
        ask(ours, "POST", f"namespaces/{NAMESPACE}/messageTTL", 1800)
        client.close()
        assert ours.terminate() == 0
    left = {*left, *range(100, 150)} - {*range(20, 50), 99}
    with PulsarBroker(tmp_path / "again", pulsar_cluster) as theirs:
        assert ask(theirs, "GET", f"namespaces/{NAMESPACE}/messageTTL") == 1800
        ask(theirs, "POST", f"namespaces/{NAMESPACE}/messageTTL", 3600)
        has_all(theirs)
        client = pulsar.Client(theirs.service_url)
        consumer = client.subscribe(ONE, "s", pulsar.ConsumerType.Shared)
        assert set(receive(consumer, len(left))) == left
        with pytest.raises(pulsar.Timeout):
            consumer.receive(500)
        odd = client.subscribe(ODD, "s ~*")
        assert set(receive(odd, 1)) == {4}
        reader = client.create_reader(ONE, pulsar.MessageId.earliest)
        assert [int(reader.read_next(20_000).data()) for _ in range(150)] == list(range(150))
        client.close()
