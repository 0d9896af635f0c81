import pytest

from magnetar.broker.change_events.event import (
    Event,
    EventKey,
    EventMessage,
    key_in,
    policies_of,
)
from magnetar.errors import InvalidName, InvalidValue
from magnetar.message import metadata
from magnetar.message.entry import join
from magnetar.model.names import TopicName
from magnetar.model.policy_records import TopicPolicies
from magnetar.model.policy_values import BacklogQuota, BacklogQuotaPolicy, DelayedDeliveryPolicies
from magnetar.model.position import Position

TOPIC = TopicName.parse("persistent://tenant/ns/a b")
KEY = EventKey(TOPIC, is_global=False)
PLACE = Position(3, 17)


@pytest.mark.parametrize("is_global", [False, True])
def test_a_key_is_the_name_of_a_topic_with_a_mark_where_it_is_global(is_global):
    key = EventKey(TOPIC, is_global)
    assert str(key) == ("__G__" if is_global else "") + "persistent://tenant/ns/a b"
    assert EventKey.parse(str(key)) == key


def test_other_keys_are_none():
    with pytest.raises(InvalidName):
        EventKey.parse("persistent://tenant")


def test_it_comes_to_another_broker_as_it_is():
    event = Event(KEY, PLACE, {"maxProducerPerTopic": 3, "newOne": ["x"]})
    assert Event.from_json(event.to_json()) == event
    assert Event.from_json(Event(KEY, PLACE, None).to_json()).policies is None


def test_three_values_of_pulsars_are_one_policy_of_ours_and_back():
    stored = {
        "delayedDeliveryEnabled": True,
        "delayedDeliveryTickTimeMillis": 5,
        "delayedDeliveryMaxDelayInMillis": 70,
        "maxConsumerPerTopic": None,
        "newOne": "kept",
    }
    record = Event(KEY, PLACE, stored).record
    assert record.policies.delayed_delivery == DelayedDeliveryPolicies(5, True, 70)
    assert record.policies.consumers_per_topic_max is None
    changed = record.with_policies(producers_per_topic_max=4)
    assert policies_of(changed) == {
        "delayedDeliveryEnabled": True,
        "delayedDeliveryTickTimeMillis": 5,
        "delayedDeliveryMaxDelayInMillis": 70,
        "maxProducerPerTopic": 4,
        "newOne": "kept",
    }
    removed = policies_of(record.with_policies(delayed_delivery=None))
    assert removed == {"newOne": "kept"}


def test_a_quota_has_its_older_name_too():
    quota = BacklogQuota(10, -1, BacklogQuotaPolicy.EXCEPTION)
    written = policies_of(TopicPolicies().with_policies(backlog_quota_size=quota))
    kept = {"limit": 10, "limitSize": 10, "limitTime": -1, "policy": "producer_exception"}
    assert written == {"backLogQuotaMap": {"destination_storage": kept}}
    again = Event(KEY, PLACE, written).record
    assert again.policies.backlog_quota_size == quota


def test_what_cannot_be_read_is_named():
    with pytest.raises(InvalidValue, match="maxProducerPerTopic"):
        _ = Event(KEY, PLACE, {"maxProducerPerTopic": "many"}).record


def test_a_message_says_whose_policies_it_has_and_where_they_belong():
    entry = EventMessage(KEY, b"value", "here").entry("p", 4, 99, b"\0" * 8)
    found = metadata.parse(entry)
    assert (found.key, found.null_value, found.schema_version) == (str(KEY), False, b"\0" * 8)
    assert b"here" in entry
    assert key_in(entry) == KEY


def test_a_message_without_a_value_takes_the_policies_away():
    entry = EventMessage(EventKey(TOPIC, is_global=True), b"", "here").entry("p", 4, 99, None)
    assert metadata.parse(entry).null_value
    assert b"here" not in entry  # It is for all clusters.


def test_messages_with_other_keys_are_passed_over():
    for key in (None, "no-name", "ftp://a/b/c"):
        assert key_in(join(metadata.build("p", 1, 2, key=key), b"")) is None
