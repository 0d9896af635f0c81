from contextlib import closing
from threading import Event

import pytest
from support.admin import ask
from support.functions import configured

from magnetar.client import blocking
from magnetar.client.admin_api import AdminApi
from magnetar.errors import InvalidValue
from magnetar.functions.state_topic import StateTopic, put_state, read_state
from magnetar.model.names import TopicName
from magnetar.testing.local_broker import BrokerThread


@pytest.fixture
def opened(broker, client, function):
    def open_topic(instance_id=0, **keys):
        config = function.config("Counting", **keys)
        return closing(StateTopic(client, config, instance_id, admin=AdminApi(broker.web_url)))

    return open_topic


def test_what_was_written_is_there_for_the_next_instance(client, function, opened):
    with opened() as topic:
        topic.state().put("a", b"1")
        topic.state().increment("n", 5)
        topic.write({})
    with opened() as topic:
        assert topic.state().get("a") == b"1"
        topic.state().increment("n", 2)
        topic.write({})
    found = read_state(client, function.config("Counting"))
    assert (found.values(), found.counters()) == ({"a": b"1"}, {"n": 7})


def test_who_only_looks_creates_nothing(client, function, opened):
    config = function.config("Counting")
    assert read_state(client, config).values() == {}
    with opened(processingGuarantees="EFFECTIVELY_ONCE") as topic:
        assert topic.positions() == {}
    assert config.state_topic not in client.topics("public/default")


def test_instances_see_each_others_changes(opened):
    with opened(0, parallelism=2) as one, opened(1, parallelism=2) as two:
        one.state()
        two.state().increment("n", 5)
        two.write({})
        while one.state().counter("n") != 5:
            one.write({})  # From then on it may have come.


def test_effectively_once_brings_its_position(opened):
    with opened(processingGuarantees="EFFECTIVELY_ONCE") as topic:
        topic.state().put("a", b"1")
        topic.write({"in": "3:4:-1"})
    with opened(processingGuarantees="EFFECTIVELY_ONCE") as topic:
        assert topic.positions() == {"in": "3:4:-1"}


def test_a_value_can_be_put_from_outside(broker, client, function, opened):
    config = function.config("Counting")
    put_state(client, config, "a", b"given", admin=AdminApi(broker.web_url))
    with opened() as topic:
        assert topic.state().get("a") == b"given"
    once = function.config("Counting", processingGuarantees="EFFECTIVELY_ONCE")
    with pytest.raises(InvalidValue, match="only its inputs change its state"):
        put_state(client, once, "a", b"1")


def test_what_was_compacted_survives_and_what_was_before_goes(tmp_path):
    config = configured("Counting")
    settings = {"retentionCheckIntervalInSeconds": 1, "managedLedgerMaxEntriesPerLedger": 10}
    path = f"persistent/public/default/{TopicName.parse(config.state_topic).local}"
    for life in range(2):
        with (
            BrokerThread(tmp_path / "data", settings=settings) as broker,
            blocking.Client(broker.service_url) as client,
            closing(StateTopic(client, config, 0, admin=AdminApi(broker.web_url))) as topic,
        ):
            assert topic.state().counter("n") == (100 if life else None)
            assert ask(broker, "GET", f"{path}/subscriptions") == ["__compaction"]
            for _ in range(0 if life else 100):
                topic.state().increment("n", 1)
                topic.write({})
            if not life:
                ask(broker, "PUT", f"{path}/compaction")
                while ask(broker, "GET", f"{path}/compaction")["status"] != "SUCCESS":
                    Event().wait(0.05)
