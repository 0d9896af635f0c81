"""How batches and bytes are shown; test_command.py peeks at single messages."""

from magnetar.client.blocking import Client


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
