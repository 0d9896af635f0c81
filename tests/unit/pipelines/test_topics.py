import dataclasses
from pathlib import Path

import pytest

from magnetar.client import blocking
from magnetar.pipelines import topics
from magnetar.pipelines.reading import read_pipeline
from magnetar.schemas import Int64Schema, JsonSchema
from magnetar.testing.local_broker import BrokerThread
from magnetar.testing.ports import free_port


@dataclasses.dataclass
class Order:
    id: int


WHOLE = """
name: orders
pulsar: {service.url: "${URL}"}
quarantine: {topic: bad}
reject: {topic: rejected}
sources:
  orders: {topic: orders, json: id int}
  more: {topicsPattern: "persistent://public/default/more-.*", json: id int}
steps:
  clean: {sql: SELECT * FROM orders, checks: {positive: {expect: id > 0, action: quarantine}}}
sinks:
  copy: {from: clean, topic: copy}
  table: {from: clean, format: parquet, path: out}
"""


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running, blocking.Client(running.service_url) as client:
        for name, schema in {
            "orders": JsonSchema(Order),
            "counts": Int64Schema(),
            "copy": None,
            "rejected": None,
        }.items():
            client.create_producer(name, schema=schema).close()
        yield running


@pytest.fixture
def looked(broker, tmp_path):
    def looked(right: str = "", changed: str = "", url: str | None = None) -> topics.TopicsCheck:
        assert right in WHOLE
        file = Path(tmp_path, "orders.yaml")
        file.write_text(WHOLE.replace(right, changed) if right else WHOLE)
        return topics.look(read_pipeline(file, {"URL": url or broker.service_url}))

    return looked


def test_what_is_not_there_yet_is_noted_and_nothing_is_made(broker, looked):
    for _ in range(2):
        found = looked()
        assert found.mistakes == []
        pattern, quarantine = found.notes
        assert pattern == "sources.more: no topic matches topicsPattern yet"
        assert quarantine.startswith("steps.clean.quarantine: bad is not there yet: the first row")
    with blocking.Client(broker.service_url) as client:
        assert not any(name.endswith("/bad") for name in client.topics("public/default"))


@pytest.mark.parametrize(
    ("right", "changed", "said"),
    [
        (
            "{topic: orders, ",
            "{topic: ordres, ",
            "persistent://public/default/ordres does not exist",
        ),
        ("{topic: orders, ", "{topic: counts, ", "have a schema of type INT64: leave json out"),
    ],
)
def test_a_source_that_cannot_be_read_is_named(looked, right, changed, said):
    (mistake,) = looked(right, changed).mistakes
    assert mistake.startswith("sources.orders: ")
    assert said in mistake


def test_rows_that_lack_the_schema_of_their_topic_are_noted(looked):
    found = looked("topic: copy}", "topic: counts}")
    (note,) = [one for one in found.notes if one.startswith("sinks.copy: ")]
    assert "a schema of type INT64: set the option schema: registry" in note
    found = looked("topic: copy}", "topic: counts, options: {schema: registry}}")
    assert not [one for one in found.notes if one.startswith("sinks.copy: ")]


def test_a_broker_that_is_away_is_named_once(looked, monkeypatch):
    monkeypatch.setattr(topics, "WAIT_S", 0.5)
    (mistake,) = looked(url=f"pulsar://127.0.0.1:{free_port()}").mistakes
    assert mistake.startswith("sources.orders: ")
    assert "127.0.0.1" in mistake
