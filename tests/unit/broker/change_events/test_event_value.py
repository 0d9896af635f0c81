import pytest

from magnetar.broker.change_events import event_value
from magnetar.broker.change_events.definition import EVENT_SCHEMA
from magnetar.broker.change_events.event import EventKey, policies_of
from magnetar.broker.change_events.event_value import VERSIONS_KEPT_MAX, decode, encode
from magnetar.errors import InvalidValue, UndecodableValue
from magnetar.model.names import TopicName
from magnetar.model.policy_records import TopicPolicies
from magnetar.model.policy_values import RetentionPolicies
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.schemas.avro import of_topic

KEY = EventKey(TopicName.parse("persistent://carried/over/one"), is_global=False)
OF_PULSAR = (
    bytes.fromhex(  # A retention of 60 minutes and 100 MB, as Apache Pulsar 4.0.7 writes it.
        "020402000202066c61620002021470657273697374656e7402086f766572020002000000000000000000"
        "000002000000000000000000000000000002c80178000000000002000200020e6361727269656402066f"
        "6e65"
    )
)


def test_it_is_byte_by_byte_what_pulsar_writes():
    retention = RetentionPolicies(60, 100)
    policies = policies_of(TopicPolicies().with_policies(retention=retention))
    assert encode(EVENT_SCHEMA, KEY, policies, "lab") == OF_PULSAR


def test_what_pulsar_wrote_is_read():
    assert decode(EVENT_SCHEMA, OF_PULSAR) == {
        "backLogQuotaMap": {},
        "isGlobal": False,
        "retentionPolicies": {"retentionSizeInMB": 100, "retentionTimeInMinutes": 60},
        "subscriptionPolicies": {},
        "subscriptionTypesEnabled": [],
    }


def test_global_ones_are_for_every_cluster():
    written = encode(EVENT_SCHEMA, EventKey(KEY.topic, is_global=True), {}, "lab")
    assert b"lab" not in written
    assert decode(EVENT_SCHEMA, written)["isGlobal"]


def test_a_version_without_a_place_for_all_of_it_is_refused():
    with pytest.raises(InvalidValue):
        encode(EVENT_SCHEMA, KEY, {"newOne": 3}, "lab")


@pytest.mark.parametrize("action", ["DELETE", "NONE"])
def test_older_events_say_by_their_action_that_there_are_none(action):
    event = {"eventType": "TOPIC_POLICY", "actionType": action, "topicPoliciesEvent": None}
    assert decode(EVENT_SCHEMA, of_topic(EVENT_SCHEMA).encode(event)) is None


def test_events_of_other_kinds_have_no_policies():
    event = {"eventType": "TRANSACTION_BUFFER_SNAPSHOT", "actionType": "UPDATE"}
    with pytest.raises(UndecodableValue):
        decode(EVENT_SCHEMA, of_topic(EVENT_SCHEMA).encode(event))


def test_so_many_versions_of_the_schema_stay_parsed():
    for number in range(VERSIONS_KEPT_MAX + 1):
        schema = SchemaInfo(SchemaType.AVRO, EVENT_SCHEMA.data + b" " * number)
        assert encode(schema, KEY, {}, "lab")
    before = event_value._parsed.cache_info()
    assert before.currsize == VERSIONS_KEPT_MAX
    assert encode(schema, KEY, {}, "lab")
    assert event_value._parsed.cache_info().hits == before.hits + 1
