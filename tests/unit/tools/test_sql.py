import csv
import dataclasses
import io
import json

import pytest
from click.testing import CliRunner
from offload.conftest import SETTINGS
from support.admin import ask
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken
from magnetar.client import blocking
from magnetar.errors import InvalidValue, NotAuthenticated, NotReady, TopicNotFound
from magnetar.schemas import (
    AvroSchema,
    Int64Schema,
    JsonSchema,
    KeyValue,
    KeyValueEncoding,
    KeyValueSchema,
    StringSchema,
)
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools import sql as tool
from magnetar.tools.sql import sql

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker():
    with BrokerThread() as running, blocking.Client(running.service_url) as client:
        with client.create_producer("orders") as producer:
            for number in range(5):
                producer.send(b'{"n": %d}' % number, key=f"k{number % 2}")
        ask(running, "PUT", "persistent/public/default/parts/partitions", 2)
        for _ in range(2):
            with client.create_producer("parts") as producer:
                producer.send(b"x")
        yield running


def run(broker, query, *more):
    urls = ["--service-url", broker.service_url, "--admin-url", broker.web_url]
    return CliRunner().invoke(sql, [query, *urls, *more], catch_exceptions=False).output


def test_topics_are_tables(broker):
    query = "SELECT decode(key) AS k, sum((decode(value)->>'$.n')::int) AS s FROM orders GROUP BY 1"
    answer = list(csv.reader(io.StringIO(run(broker, f"{query} ORDER BY 1", "--csv"))))
    assert answer == [["k", "s"], ["k0", "6"], ["k1", "4"]]
    shown = run(broker, "SELECT count(*) AS parts FROM 'persistent://public/default/parts'")
    assert "parts" in shown
    assert "2" in shown


def test_values_are_text_and_null_is_null(broker):
    answer = list(csv.reader(io.StringIO(run(broker, "SELECT value, NULL FROM orders", "--csv"))))
    assert answer[1] == ['{"n": 0}', ""]
    shown = run(broker, "SELECT NULL AS nothing, '[bold]' AS \"[red]\"")
    assert all(word in shown for word in ("NULL", "[bold]", "[red]"))


def test_who_does_not_answer_is_named_with_the_option(broker):
    urls = ["--service-url", broker.service_url, "--admin-url", "http://127.0.0.1:1"]
    with pytest.raises(
        NotReady, match=r"no admin API answers at http://127\.0\.0\.1:1.*--admin-url"
    ):
        CliRunner().invoke(sql, ["SELECT 1 FROM orders", *urls], catch_exceptions=False)


def test_it_asks_as_the_role_that_the_options_say():
    shown = ["--auth-plugin", "token", "--auth-params", f"token:{token()}"]
    with BrokerThread(settings=TAKES_TOKENS) as guarded:
        with blocking.Client(guarded.service_url, authentication=AuthenticationToken(token())) as c:
            c.create_producer("secret").close()
        assert run(guarded, "SELECT count(*) FROM secret", "--csv", *shown).split()[-1] == "0"
        with pytest.raises(NotAuthenticated):
            run(guarded, "SELECT count(*) FROM secret")


def test_a_topic_that_there_is_not_is_named(broker):
    with pytest.raises(TopicNotFound, match="nowhere"):
        run(broker, "SELECT * FROM nowhere")


def test_too_much_beside_the_files_is_refused(broker, monkeypatch):
    monkeypatch.setattr(tool, "TAIL_MESSAGES_MAX", 4)
    with pytest.raises(InvalidValue, match="orders has more than 4 messages"):
        run(broker, "SELECT count(*) FROM orders")


def test_what_is_missing_is_named(broker, monkeypatch):
    monkeypatch.setattr(tool, "NEEDED", ("no_such_thing",))
    with pytest.raises(NotReady, match="sql needs no_such_thing"):
        run(broker, "SELECT 1")


@dataclasses.dataclass
class Order:
    id: int
    customer: str


@dataclasses.dataclass
class LaterOrder:
    id: int
    customer: str
    amount: float | None = None


def csv_of(broker, query):
    return list(csv.reader(io.StringIO(run(broker, query, "--csv"))))[1:]


@pytest.mark.parametrize("make", [AvroSchema, JsonSchema])
def test_values_are_shown_by_the_version_of_their_schema(broker, make):
    topic = f"typed-{make.__name__}"
    with blocking.Client(broker.service_url) as client:
        with client.create_producer(topic, schema=make(Order)) as producer:
            producer.send_many([Order(number, "ann") for number in range(3)])
        with client.create_producer(topic, schema=make(LaterOrder)) as producer:
            producer.send(LaterOrder(9, "bob", 2.5))
        with client.create_producer(topic) as producer:
            producer.send(b"no order")
    shown = [row[0] for row in csv_of(broker, f"SELECT value FROM '{topic}'")]
    assert [json.loads(each) for each in shown[:4]] == [
        *({"id": number, "customer": "ann"} for number in range(3)),
        {"id": 9, "customer": "bob", "amount": 2.5},
    ]
    assert shown[4] == "no order"
    fields = (
        f"SELECT value->>'$.customer', count(*) FROM '{topic}' WHERE value LIKE '{{%' GROUP BY 1"
    )
    assert sorted(csv_of(broker, fields)) == [["ann", "3"], ["bob", "1"]]
    assert csv_of(broker, f"SELECT count(*) FROM '{topic}'") == [["5"]]


def test_values_of_other_schemas_are_shown(broker):
    pair = KeyValueSchema(StringSchema(), Int64Schema(), KeyValueEncoding.SEPARATED)
    with blocking.Client(broker.service_url) as client:
        for topic, schema, value in (
            ("counted", Int64Schema(), 21),
            ("said", StringSchema(), "hello"),
            ("paired", pair, KeyValue("k", 7)),
        ):
            with client.create_producer(topic, schema=schema) as producer:
                producer.send(value)
    assert csv_of(broker, "SELECT value, value::int + 1 FROM counted") == [["21", "22"]]
    assert csv_of(broker, "SELECT value FROM said") == [["hello"]]
    ((shown,),) = csv_of(broker, "SELECT value FROM paired")
    assert json.loads(shown) == {"key": "k", "value": 7}


def test_values_in_files_are_shown_by_the_versions_that_they_were_written_with(tmp_path):
    settings = {**SETTINGS, "fileSystemURI": (tmp_path / "tiered").as_uri()}
    offload = "persistent/public/default/kept/offload"
    with BrokerThread(tmp_path / "broker", settings=settings) as running:
        with blocking.Client(running.service_url) as client:
            with client.create_producer("kept", schema=AvroSchema(Order)) as producer:
                for number in range(15):
                    producer.send(Order(number, "ann"))
            with client.create_producer("kept", schema=AvroSchema(LaterOrder)) as producer:
                for number in range(15, 33):
                    last = producer.send(LaterOrder(number, "bob", 0.5))
        ask(running, "PUT", offload, {"ledgerId": last.ledger_id, "entryId": 0})
        while ask(running, "GET", offload)["status"] == "RUNNING":
            pass
        assert len(list((tmp_path / "tiered").rglob("*.parquet"))) == 3
        found = [json.loads(row[0]) for row in csv_of(running, "SELECT value FROM kept")]
    found.sort(key=lambda order: order["id"])
    assert found == [
        *({"id": number, "customer": "ann"} for number in range(15)),
        *({"id": number, "customer": "bob", "amount": 0.5} for number in range(15, 33)),
    ]
