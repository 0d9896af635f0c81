from contextlib import closing

import pytest

from magnetar.errors import InvalidValue
from magnetar.functions.state_topic import StateTopic, put_state, read_state, state_topic


@pytest.fixture
def opened(broker, client, function):
    def open_topic(instance_id=0, **keys):
        config = function.config("Counting", **keys)
        return closing(StateTopic(client, config, instance_id, admin_url=broker.web_url))

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
    assert state_topic(config) not in client.topics("public/default")


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
    put_state(client, config, "a", b"given", admin_url=broker.web_url)
    with opened() as topic:
        assert topic.state().get("a") == b"given"
    once = function.config("Counting", processingGuarantees="EFFECTIVELY_ONCE")
    with pytest.raises(InvalidValue, match="only its inputs change its state"):
        put_state(client, once, "a", b"1")
