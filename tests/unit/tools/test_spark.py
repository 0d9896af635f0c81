import json
from urllib.request import urlopen

import pytest
from click.testing import CliRunner

from magnetar.client import blocking
from magnetar.errors import InvalidValue
from magnetar.testing.local_broker import BrokerThread
from magnetar.tools.spark import spark

LEFT, STOPPED, RUNS = (f"spark-pulsar-{digit * 12}" for digit in "abc")


@pytest.fixture
def broker():
    """A topic with subscriptions of three queries, one of which runs, and with one of ours."""
    with BrokerThread() as running, blocking.Client(running.service_url) as client:
        for name in (LEFT, STOPPED, "mine", "spark-pulsar-of-mine"):
            client.subscribe("orders", name).close()
        with client.create_producer("orders") as producer, client.subscribe("orders", RUNS):
            producer.send(b"x")
            yield running


def run(broker, *more):
    done = CliRunner().invoke(
        spark,
        ["subscriptions", "--admin-url", broker.web_url, *more],
        catch_exceptions=False,
    )
    return done.output


def subscriptions(broker):
    url = f"{broker.web_url}/admin/v2/persistent/public/default/orders/subscriptions"
    with urlopen(url, timeout=10) as answer:
        return set(json.load(answer))


@pytest.fixture
def checkpoints(tmp_path):
    """As Spark writes them: one query of ours, and one of another source."""
    ours = json.dumps({"persistent://public/default/t": "7:4:0", "subscription": STOPPED})
    for name, lines in (
        ("copy", ["v1", '{"batchWatermarkMs":0}', ours]),
        ("files", ["v1", "{}", '{"logOffset":3}', "-"]),
    ):
        offsets = tmp_path / name / "offsets"
        offsets.mkdir(parents=True)
        (offsets / "4").write_text("\n".join(lines))
        (offsets / ".4.crc").write_bytes(b"\xff")
    return tmp_path


def test_what_nobody_uses_is_listed(broker, checkpoints):
    rows = json.loads(run(broker, "-o", "json"))
    topic = "persistent://public/default/orders"
    assert rows == [
        {"topic": topic, "subscription": LEFT, "backlog": 1},
        {"topic": topic, "subscription": STOPPED, "backlog": 1},
    ]
    shown = run(broker, "--checkpoints", str(checkpoints))
    assert LEFT in shown
    assert STOPPED not in shown
    assert "1 left by queries" in shown
    assert run(broker, "--prefix", "etl") == "none is left\n"


def test_what_is_left_is_removed_and_nothing_else(broker, checkpoints):
    before = subscriptions(broker)
    assert "1 removed" in run(broker, "--checkpoints", str(checkpoints), "--remove")
    assert subscriptions(broker) == before - {LEFT}
    assert "none is left" in run(broker, "--name", RUNS, "--remove")
    assert "1 removed" in run(broker, "--name", STOPPED, "--remove")
    assert subscriptions(broker) == {RUNS, "mine", "spark-pulsar-of-mine"}


def test_a_stopped_query_loses_nothing_by_a_guess(broker, tmp_path):
    with pytest.raises(InvalidValue, match="--checkpoints DIR, or which ones, with --name"):
        run(broker, "--remove")
    with pytest.raises(InvalidValue, match="has no checkpoint in it"):
        run(broker, "--remove", "--checkpoints", str(tmp_path))
    assert {LEFT, STOPPED} <= subscriptions(broker)
