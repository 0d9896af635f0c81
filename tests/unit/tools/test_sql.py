import csv
import io

import pytest
from click.testing import CliRunner
from support.admin import ask
from support.tokens import TAKES_TOKENS, token

from magnetar import AuthenticationToken
from magnetar.client import blocking
from magnetar.errors import InvalidValue, NotAuthenticated, NotReady, TopicNotFound
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools import sql as tool
from magnetar.tools.sql import sql


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
