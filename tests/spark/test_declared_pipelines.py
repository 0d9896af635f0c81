"""The pipeline of ``docs/pipelines.md``, run as its page says, and how pipelines fail."""

import json
import runpy
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


MALFORMED = [
    (b'{"id": "500", "customer": "c0", "amount": 7}', "it does not fit the columns id"),
    (b"\xff\xfe", "it is no UTF-8"),
]


@pytest.mark.timeout(300)  # Four queries, and a batch.
def test_the_pipeline_of_the_page_accounts_for_every_row(spark, run, broker, client, page):
    orders = [
        {"id": number, "customer": None if number % 20 == 7 else f"c{number % 2}", "amount": amount}
        for number, amount in enumerate([-1, 0, *range(1, 99)])
    ]
    send(client, "orders", [*orders, *orders[:10]])
    with client.create_producer("orders") as producer:
        sent = [str(producer.send(value, key="k")) for value, _ in MALFORMED]
    good = [one for one in orders if one["amount"] > 0 and one["customer"]]
    pipeline, queries = run(page)
    tallies = {query.name: query.tally for query in queries}
    assert list(tallies) == ["clean_orders", "totals", "orders_reject", "clean_quarantine"]
    assert {tallies[name].rows_duplicate for name in tallies if name != "orders_reject"} == {10}
    found = accounts(pipeline, tallies)
    assert {
        (one.view, one.rows, one.passed, one.dropped, one.quarantined, one.rejected)
        for one in found
    } == {("orders", 112, 110, 0, 0, 2), ("clean", 100, len(good), 5, 2, 0)}
    aside = {"clean_quarantine": "clean", "orders_reject": "orders"}
    assert not differences(found, tallies, aside)
    copied = [json.loads(one.data) for one in values(client, "clean-orders", len(good))]
    assert sorted(one["id"] for one in copied) == [one["id"] for one in good]
    totals = {one.key: float(one.data) for one in values(client, "totals", 2)}
    assert totals == {
        name: sum(one["amount"] for one in good if one["customer"] == name) for name in ("c0", "c1")
    }

    origin = "persistent://public/default/orders"
    rejected = values(client, "orders-rejected", 2)
    assert [(one.data, one.properties["REASON"]) for one in rejected] == MALFORMED
    assert [one.properties["ORIGIN_MESSAGE_ID"] for one in rejected] == sent
    assert {(one.properties["REAL_TOPIC"], one.key) for one in rejected} == {(origin, "k")}
    bad = values(client, "orders-quarantine", 2)
    assert {(one.properties["VIEW"], one.properties["REASON"]) for one in bad} == {
        ("clean", "the amount is positive")
    }
    assert sorted(json.loads(one.properties["ROW"])["id"] for one in bad) == [0, 1]
    assert sorted(one.data for one in bad) == [json.dumps(one).encode() for one in orders[:2]]
    assert {one.event_time_ms for one in bad} == {1_700_000_000_000, 1_700_000_000_001}

    mend = runpy.run_path(str(page.parent / "mend.py"))["mend"]
    mend(spark, broker.service_url)
    back = values(client, "orders", 113)[-1]
    assert back.data == b'{"id": 500, "customer": "c0", "amount": 7}'
    assert back.key == "k"


DEDUPLICATED = """
name: deduplicated
pulsar: {service.url: "${SERVICE_URL}"}
reject: {topic: TOPIC-rejected}
sources:
  numbers: {topic: TOPIC, options: {startingOffsets: earliest}, json: "n int, m int"}
steps:
  once:
    sql: SELECT n, m, event_time, value FROM numbers
    watermark: {column: event_time, delay: 10 minutes}
    deduplicate: [n, m]
sinks:
  copy: {from: once_values, topic: TOPIC-copy}
"""


def test_a_null_is_no_duplicate_of_another_and_what_is_no_json_is_not_null(
    run, client, topic, tmp_path
):
    lines = DEDUPLICATED.replace("TOPIC", topic).splitlines()
    step = ["  once_values: {sql: SELECT value FROM once}", "sinks:"]
    file = tmp_path / "deduplicated.yaml"
    file.write_text("\n".join(lines).replace("sinks:", "\n".join(step)))
    pairs = [{"n": 1, "m": 1}, {"n": 1, "m": 1}, {"n": 1}, {"n": 1}, {}, {}, {"n": 2, "m": 1}]
    send(client, topic, pairs)
    torn = [b'{"n": 1', b"", b"null", b"[1]", b'{"n": 3, "m": 1} {"n": 4}', b'{"n": 3000000000}']
    with client.create_producer(topic) as producer:
        for value in torn:
            producer.send(value)
    _, (copy, rejects) = run(file)
    assert copy.tally.rows_duplicate == 1
    kept = [json.loads(one.data) for one in values(client, f"{topic}-copy", 6)]
    del pairs[0]
    assert sorted(map(str, kept)) == sorted(map(str, pairs))
    assert rejects.tally.rows_written == len(torn)
    assert [one.data for one in values(client, f"{topic}-rejected", len(torn))] == torn


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


def test_a_malformed_message_stops_a_pipeline_that_rejects_none_and_is_named(
    run, client, topic, tmp_path
):
    with client.create_producer(topic) as producer:
        sent = producer.send(b"no number")
    file = tmp_path / "failing.yaml"
    file.write_text(FAILING.replace("TOPIC", topic))
    with pytest.raises(NotReady) as caught:
        run(file)
    said = str(caught.value)
    assert "sources.numbers: the value of " in said
    assert "is malformed, it is no JSON object: declare reject, where such messages go" in said
    assert topic in said
    assert f'"entry_id":{sent.entry_id}' in said
    assert "\n" not in said


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
