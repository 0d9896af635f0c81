"""How batches and bytes are shown; test_command.py peeks at single messages."""

import pytest

from magnetar.client.blocking import Client
from magnetar.errors import NotFound


def test_messages_of_a_batch_are_shown_one_by_one(broker, value, pulsar_admin):
    topic = "persistent://public/default/shown"
    pulsar_admin(f"topics create-subscription {topic} -s s -m earliest")
    with (
        Client(broker.service_url) as client,
        client.create_producer(topic, batch_messages_max=2) as producer,
    ):
        producer.send_many([b"a", b"\xff\x00"])
    found = value(f"topics peek-messages {topic} -s s -n 5")
    assert [one["data"] for one in found] == ["a", "ff 00"]
    assert [one["messageId"].count(":") for one in found] == [2, 2]
    assert {"publishTime", "producer", "properties", "key"} <= found[0].keys()


def test_nothing_to_peek_at_is_said_and_is_no_error(pulsar_admin):
    topic = "persistent://public/default/empty"
    pulsar_admin(f"topics create-subscription {topic} -s s")
    says = f"{topic} has no message that s has not acknowledged"
    assert pulsar_admin(f"topics peek-messages {topic} -s s") == says
    assert pulsar_admin(f"topics peek-messages {topic} -s s -o json") == f"{says}\n[]"
    with pytest.raises(NotFound, match="Subscription absent not found"):
        pulsar_admin(f"topics peek-messages {topic} -s absent")
