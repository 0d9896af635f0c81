"""The official client beside the commands that send and receive, and beside redrives."""

import json

import pulsar
import pytest
from click.testing import CliRunner
from support.admin import ask

from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.cli import magnetar

pytestmark = pytest.mark.compatibility


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running:
        yield running


@pytest.fixture
def run(broker):
    def called(*words):
        words = (*words, "--url", broker.service_url)
        return CliRunner().invoke(magnetar, words, catch_exceptions=False).output

    return called


def test_the_official_client_consumes_what_we_produce(client, run):
    consumer = client.subscribe("ours", "s")
    run("produce", "ours", "-m", "a,b", "-k", "k", "-p", "c=d")
    for expected in (b"a", b"b"):
        message = consumer.receive(10_000)
        assert message.data() == expected
        assert (message.partition_key(), message.properties()) == ("k", {"c": "d"})


def test_we_consume_what_the_official_client_produces(client, run):
    producer = client.create_producer("theirs", schema=pulsar.schema.StringSchema())
    for text in ("a", "b"):
        producer.send(text, partition_key="k", properties={"c": "d"})
    shown = run("consume", "theirs", "-s", "s", "-p", "Earliest", "-n", "2", "-o", "json")
    found = [json.loads(line) for line in shown.splitlines()]
    assert [each["value"] for each in found] == ["a", "b"]
    assert (found[0]["key"], found[0]["properties"]) == ("k", {"c": "d"})


def test_letters_of_the_official_client_go_back(broker, client):
    """They name their origin by the properties that it writes."""
    policy = pulsar.ConsumerDeadLetterPolicy(1, "letters", "kept")
    consumer = client.subscribe(
        "origin",
        "s",
        consumer_type=pulsar.ConsumerType.Shared,
        negative_ack_redelivery_delay_ms=10,
        dead_letter_policy=policy,
    )
    client.create_producer("origin").send(b"bad", partition_key="k", properties={"a": "b"})
    path = "persistent/public/default/letters"
    for _ in range(2):
        consumer.negative_acknowledge(consumer.receive(10_000))
    client.subscribe("letters", "seen", initial_position=pulsar.InitialPosition.Earliest).receive(
        10_000
    )
    dry = ask(broker, "POST", f"{path}/redrive", {"dryRun": True, "subscription": "kept"})
    assert dry["targets"] == {"persistent://public/default/origin": 1}
    ask(broker, "POST", f"{path}/redrive", {"subscription": "kept"})
    again = consumer.receive(10_000)
    assert (again.data(), again.partition_key()) == (b"bad", "k")
    assert again.properties().keys() == {"a", "ORIGIN_MESSAGE_ID"}
    assert again.redelivery_count() == 0
