"""The pipeline of ``docs/pipelines.md``, run as its page says, and how pipelines fail."""

import json
import threading

import pytest
from documents.snippets import snippets

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.errors import InvalidValue, NotReady
from magnetar.model.position import EARLIEST_MESSAGE
from magnetar.pipelines.accounts import accounts, differences
from magnetar.pipelines.run import check
from magnetar.pipelines.supervision import Supervision, cause

PAGE = "docs/pipelines.md"
QUICK = {
    # They would forget old state, which takes half of the time.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
}


@pytest.fixture
def page(tmp_path):
    """The files of the page, in a folder."""
    for snippet in snippets(PAGE):
        if snippet.file and "/" not in snippet.file:  # The others are of Spark's own pipelines.
            (tmp_path / snippet.file).write_text(snippet.text)
    return tmp_path / "orders.yaml"


@pytest.fixture
def run(spark, broker):
    before = {name: spark.conf.get(name) for name in QUICK}
    for name, value in QUICK.items():
        spark.conf.set(name, value)

    def run(file, wait=lambda: threading.Event().wait(0.1)):
        environment = {"SERVICE_URL": broker.service_url}
        checked = check(file, environment, spark, until_caught_up=True)
        supervision = Supervision()
        supervision.run(checked.queries, wait)
        return checked.pipeline, supervision.queries

    yield run
    for name, value in before.items():
        spark.conf.set(name, value)


def send(client, topic, orders):
    with client.create_producer(topic) as producer:
        producer.send_many(
            [
                OutgoingMessage(json.dumps(one).encode(), event_time_ms=1_700_000_000_000 + index)
                for index, one in enumerate(orders)
            ]
        )


def values(client, topic, count):
    with client.create_reader(topic, EARLIEST_MESSAGE) as reader:
        return [reader.receive(timeout_s=10) for _ in range(count)]


def test_the_pipeline_of_the_page_accounts_for_every_row(run, client, page):
    orders = [
        {"id": number, "customer": None if number % 20 == 7 else f"c{number % 2}", "amount": amount}
        for number, amount in enumerate([-1, 0, *range(1, 99)])
    ]
    send(client, "orders", [*orders, *orders[:10]])
    good = [one for one in orders if one["amount"] > 0 and one["customer"]]
    pipeline, queries = run(page)
    tallies = {query.name: query.tally for query in queries}
    assert list(tallies) == ["clean_orders", "totals", "clean_quarantine"]
    assert {tally.rows_duplicate for tally in tallies.values()} == {10}
    found = accounts(pipeline, tallies)
    assert {(one.rows, one.passed, one.dropped, one.quarantined) for one in found} == {
        (100, len(good), 5, 2)
    }
    assert not differences(found, tallies, {"clean_quarantine": "clean"})
    copied = [json.loads(one.data) for one in values(client, "clean-orders", len(good))]
    assert sorted(one["id"] for one in copied) == [one["id"] for one in good]
    totals = {one.key: float(one.data) for one in values(client, "totals", 2)}
    assert totals == {
        name: sum(one["amount"] for one in good if one["customer"] == name) for name in ("c0", "c1")
    }
    bad = [json.loads(one.data) for one in values(client, "orders-quarantine", 2)]
    assert {(one["step"], one["reason"]) for one in bad} == {("clean", "the amount is positive")}
    assert sorted(json.loads(one["row"])["id"] for one in bad) == [0, 1]


FAILING = """
name: failing
pulsar: {service.url: "${SERVICE_URL}"}
sources:
  numbers: {topic: TOPIC, options: {startingOffsets: earliest}, json: n int}
steps:
  checked: {sql: SELECT n FROM numbers, checks: {it is small: {expect: n < 2, action: fail}}}
sinks:
  table: {from: checked, format: parquet, path: out}
"""


def test_a_row_that_may_not_be_stops_the_pipeline_and_is_shown(run, client, topic, tmp_path):
    send(client, topic, [{"n": 1}, {"n": 2}])
    file = tmp_path / "failing.yaml"
    file.write_text(FAILING.replace("TOPIC", topic))
    with pytest.raises(NotReady) as caught:
        run(file)
    assert "table failed: " in str(caught.value)
    assert """the check 'it is small' does not hold for {"n":2}""" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("n < 2", "m < 2"), "steps.checked: checks.it is small: "),
        (("SELECT n FROM", "SELECT n FRM"), "steps.checked: "),
        (("FROM numbers,", "FROM number,"), "steps.checked: "),
        (("json: n int", "json: key int"), "sources.numbers: json has a column key"),
        (("json: n int", "json: n nit"), "sources.numbers: "),
        (("checks:", "deduplicate: [m], checks:"), "deduplicate: there is no column m"),
        (("checks:", "deduplicate: [n], checks:"), "deduplicate needs to know how long"),
        (("TOPIC,", "TOPIC, stream: false,"), "sinks.table: no stream leads to checked"),
    ],
)
def test_what_spark_would_refuse_is_named_by_its_place_before_anything_starts(
    spark, broker, tmp_path, change, said
):
    file = tmp_path / "failing.yaml"
    text = FAILING.replace(*change)
    if "false" in change[1]:
        text = text.replace("options: {startingOffsets: earliest}, ", "")
    file.write_text(text.replace("TOPIC", "nowhere"))
    with pytest.raises(InvalidValue) as caught:
        check(file, {"SERVICE_URL": broker.service_url}, spark, until_caught_up=True)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_whatever_interrupts_the_wait_stops_the_queries(spark, run, client, topic, tmp_path):
    send(client, topic, [{"n": 1}])
    file = tmp_path / "failing.yaml"
    file.write_text(FAILING.replace("TOPIC", topic))

    def ctrl_c():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(file, ctrl_c)
    assert not [query for query in spark.streams.active if query.name == "failing.table"]


def test_the_cause_is_ours_where_there_is_one():
    spark_says = "[STREAM_FAILED] Query terminated\nmagnetar.errors.TopicNotFound: t is not there\n"
    assert cause(spark_says) == "TopicNotFound: t is not there"
    assert cause("first\nsecond") == "first"
    assert cause("") == "no reason given"
