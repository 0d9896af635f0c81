"""Against a real broker, in memory, in this process."""

import pickle

import pytest

from magnetar.errors import InvalidValue, TopicNotFound
from magnetar.schemas import primitives
from magnetar.schemas.avro import AvroSchema
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.values.plan import UNKNOWN, ValuePlan, schema_of

FIELDS = [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}]
RECORD = AvroSchema.from_definition({"type": "record", "name": "R", "fields": FIELDS})


@pytest.fixture
def planned(magnetar_broker):
    def planned(**options):
        given = {"service.url": magnetar_broker.service_url, "schema": "registry", **options}
        return ValuePlan.of(ReadOptions.parse(given, streaming=False))

    return planned


def made(client, topic, schema=None):
    client.create_producer(topic, schema=schema).close()
    return topic


def test_the_value_is_a_column_of_the_type_that_the_registry_says(client, planned, topic):
    plan = planned(topic=made(client, topic, RECORD), mode="PERMISSIVE")
    assert plan.columns["value"].dataType.simpleString() == "struct<id:bigint,name:string>"
    assert plan.columns.names[-1] == "_corrupt_record"
    again = pickle.loads(pickle.dumps(plan))
    assert again.columns == plan.columns
    assert again.schema == plan.schema


def test_or_each_of_its_fields_is(client, planned, topic):
    plan = planned(topic=made(client, topic, RECORD), columns="pulsar-spark")
    assert plan.columns.names[:3] == ["id", "name", "__key"]
    assert plan.top_level


def test_a_topic_without_a_schema_has_bytes(client, planned, topic):
    plan = planned(topic=made(client, topic), columns="pulsar-spark")
    assert plan.schema == UNKNOWN
    assert plan.columns["value"].dataType.simpleString() == "binary"


def test_topics_are_read_together_when_their_values_have_one_type(client, planned, topic):
    made(client, f"{topic}-1", primitives.Int64Schema())
    made(client, f"{topic}-2", primitives.Int64Schema())
    assert (
        planned(topics=f"{topic}-1,{topic}-2").columns["value"].dataType.simpleString() == "bigint"
    )
    made(client, f"{topic}-3", primitives.StringSchema())
    with pytest.raises(InvalidValue, match=f"{topic}-1 and {topic}-3 have values of different"):
        planned(topics=f"{topic}-1,{topic}-3")


def test_what_has_no_schema_to_ask_for_is_an_error(planned, topic):
    with pytest.raises(TopicNotFound):
        planned(topic=topic)
    with pytest.raises(InvalidValue, match="no topic matches"):
        planned(topicsPattern="public/default/nobody-.*")


def test_a_field_called_like_another_column_is_refused(client, planned, topic):
    fields = [{"name": "__key", "type": "long"}]
    schema = AvroSchema.from_definition({"type": "record", "name": "R", "fields": fields})
    made(client, topic, schema)
    with pytest.raises(InvalidValue, match="two columns '__key'"):
        planned(topic=topic, columns="pulsar-spark")
    assert planned(topic=topic).columns["value"].dataType.simpleString() == "struct<__key:bigint>"


def test_a_version_is_told_and_one_that_is_not_there_is_no_unknown(client, topic):
    made(client, topic, RECORD)
    assert schema_of(client, topic, 0).data == RECORD.info.data
    assert schema_of(client, f"{topic}-none") == UNKNOWN
