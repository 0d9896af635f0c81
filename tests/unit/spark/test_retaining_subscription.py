import json
from contextlib import nullcontext
from urllib.request import urlopen

import pytest
from support.admin import ask

from magnetar.client import blocking
from magnetar.errors import ConsumerBusy, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.spark.offsets import NOTHING_READ, Offset
from magnetar.spark.retaining_subscription import LEDGER_KEPT_S, RetainingSubscription
from magnetar.testing.local_broker import BrokerThread

SMALL_LEDGERS = {
    "managedLedgerMaxEntriesPerLedger": 5,
    "managedLedgerMinLedgerRolloverTimeMinutes": 0,
}


@pytest.fixture
def offsets(client, topic):
    with client.create_producer(topic, batching=False) as producer:
        ids = producer.send_many([b"%d" % number for number in range(10)])
    return [Offset(one.ledger_id, one.entry_id, one.batch_index) for one in ids]


def next_message(client, topic):
    with client.subscribe(topic, "held") as consumer:
        return int(consumer.receive(10.0).data)


def test_the_message_that_was_read_last_is_kept(client, topic, offsets):
    held = RetainingSubscription(client, "held")
    held.move({topic: offsets[4]})
    held.close()
    assert next_message(client, topic) == 4


def test_a_query_that_has_read_nothing_keeps_everything(client, topic, offsets):
    held = RetainingSubscription(client, "held")
    held.move({topic: NOTHING_READ})
    held.move({topic: offsets[0]})
    held.close()
    assert next_message(client, topic) == 0


def test_it_moves_on_after_a_restart(client, topic, offsets):
    for offset in (offsets[2], offsets[7]):
        held = RetainingSubscription(client, "held")
        held.move({topic: offset})
        held.close()
    assert next_message(client, topic) == 7


@pytest.mark.parametrize("offset", [NOTHING_READ, Offset(1, 2)])
def test_a_topic_that_is_not_there_is_not_created(client, topic, offset):
    held = RetainingSubscription(client, "held")
    with pytest.raises(TopicNotFound) if offset.names_a_message else nullcontext():
        held.move({topic: offset})
    held.close()
    assert topic not in client.topics("public/default")


def test_two_queries_cannot_share_a_subscription(client, topic, offsets):
    held = RetainingSubscription(client, "held")
    held.move({topic: offsets[0]})
    with pytest.raises(ConsumerBusy, match="a subscription of its own"):
        RetainingSubscription(client, "held").move({topic: offsets[0]})
    held.close()


def test_one_that_was_taken_away_is_made_anew(magnetar_broker, client, topic, offsets):
    held = RetainingSubscription(client, "held")
    held.move({topic: offsets[4]})
    path = f"persistent/public/default/{TopicName.parse(topic).local}"
    ask(magnetar_broker, "DELETE", f"{path}?force=true")
    assert held.last_message_ids([topic]) == held.backlog() == {}
    with pytest.raises(TopicNotFound):
        held.hold([topic])
    client.create_producer(topic).send(b"new")
    held.hold([topic])
    assert held.backlog() == {topic: 1}
    held.close()


def test_a_topic_that_goes_is_no_error_where_that_is_allowed(client, topic):
    held = RetainingSubscription(client, "held", topics_may_go=True)
    held.hold([topic])
    held.move({topic: Offset(1, 2)})
    held.close()
    assert topic not in client.topics("public/default")


def test_reading_goes_on_beside_it(client, topic, offsets):
    held = RetainingSubscription(client, "held")
    held.move({topic: offsets[9]})
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        assert int(reader.receive(10.0).data) == 0
    held.close()


def test_a_ledger_that_was_left_is_kept_for_a_while(topic):
    """What is in chunks may begin there and end in the next one."""
    with (
        BrokerThread(settings=SMALL_LEDGERS) as own,
        blocking.Client(own.service_url) as client,
    ):
        with client.create_producer(topic, batching=False) as producer:
            ids = [producer.send(b"%d" % number) for number in range(10)]
        offsets = [Offset(one.ledger_id, one.entry_id, one.batch_index) for one in ids]
        assert offsets[3].ledger_id < offsets[7].ledger_id
        times_s = iter([0.0, 10.0, LEDGER_KEPT_S - 0.1, LEDGER_KEPT_S])
        held = RetainingSubscription(client, "held", now=lambda: next(times_s))
        kept_from = []
        for number in (3, 7, 8, 9, 9):
            held.move({topic: offsets[number]})
            kept_from.append(10 - backlog(own, topic))
        held.close()
    assert kept_from == [3, 3, 3, 3, 9]


def backlog(broker, topic):
    url = f"{broker.web_url}/admin/v2/persistent/public/default/{TopicName.parse(topic).local}"
    with urlopen(f"{url}/stats", timeout=10) as answer:
        return json.load(answer)["subscriptions"]["held"]["msgBacklog"]
