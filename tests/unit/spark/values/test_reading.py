"""Against a real broker, in memory, in this process."""

from pyspark.sql.pandas.types import to_arrow_schema

from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.schemas import primitives
from magnetar.spark.read_options import ReadOptions
from magnetar.spark.values.plan import ValuePlan
from magnetar.spark.values.reading import value_rows


def test_bad_messages_are_stored_as_dead_letters_before_others_are_rows(
    client, magnetar_broker, topic
):
    with client.create_producer(topic, schema=primitives.Int16Schema()) as producer:
        producer.send(7)
    with client.create_producer(topic) as producer:
        producer.send(b"bad")
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        entries = []
        while len(entries) < 2:
            entries += reader.receive_entries(10, 10.0)
    given = {"service.url": magnetar_broker.service_url, "topic": topic, "schema": "registry"}
    options = ReadOptions.parse({**given, "deadLetterTopic": f"{topic}-dead"}, streaming=False)
    plan = ValuePlan.of(options)
    arrow = to_arrow_schema(plan.columns, timezone="UTC")
    with value_rows(plan, options, plan.columns, arrow) as typed:
        first = next(typed.rows(entries))
        with client.create_reader(f"{topic}-dead", EARLIEST_MESSAGE) as reader:
            letter = reader.receive(10.0)
    assert first.column("value").to_pylist() == [7]
    assert letter.data == b"bad"
    assert letter.properties["REAL_TOPIC"] == topic
    assert letter.schema_version is None
