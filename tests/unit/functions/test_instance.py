"""What the guarantees come to at a broker."""

import json

import pytest
from support.topics import create_partitioned_topic

from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue, MagnetarError
from magnetar.functions import instance
from magnetar.functions.instance import RUN_MESSAGES_MAX, Instance
from magnetar.functions.processing import Processor
from magnetar.functions.state_topic import read_state
from magnetar.model.names import TopicName

GUARANTEES = ("ATLEAST_ONCE", "ATMOST_ONCE", "EFFECTIVELY_ONCE")


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_each_message_is_processed_and_acknowledged(function, guarantee):
    config = function.config("Counting", processingGuarantees=guarantee)
    count = RUN_MESSAGES_MAX + 10
    function.send(*range(count))
    with function.run(config) as running:
        assert [int(value) for value in function.received(count)] == list(range(1, count + 1))
    (status,) = running.status()
    assert status["numSuccessfullyProcessed"] == status["numReceived"] == count
    function.send(77)
    assert function.unacknowledged(config, 1) == [77]


def test_a_run_is_of_so_many_messages(function, monkeypatch):
    monkeypatch.setattr(instance, "RUN_MESSAGES_MAX", 3)
    runs, process = [], Processor.run

    def counted(self, messages):
        runs.append(len(messages))
        return process(self, messages)

    monkeypatch.setattr(Processor, "run", counted)
    function.send(*range(10))
    with function.run(function.config("Double")):
        function.received(10)
    assert max(runs) == 3


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_it_goes_on_where_it_was_with_its_state(client, function, guarantee):
    config = function.config("Counting", processingGuarantees=guarantee)
    for numbers in ((1, 2), (3,)):
        function.send(*numbers)
        with function.run(config):
            function.received(numbers[-1])
    assert function.received(3) == [b"1", b"2", b"3"]
    found = read_state(client, config)
    assert (found.counters(), found.values()) == ({"all": 3}, {"last": b"3"})


@pytest.mark.parametrize("has_transactions", [True, False])
def test_each_message_counts_once_with_and_without_transactions(
    client, function, monkeypatch, has_transactions
):
    assert instance.has_transactions(client)
    if not has_transactions:  # As of a broker that has none.
        monkeypatch.setattr(instance, "has_transactions", lambda _: False)
    config = function.config("Counting", processingGuarantees="EFFECTIVELY_ONCE")
    for numbers in ((1, 2), (3,)):
        function.send(*numbers)
        with function.run(config):
            function.received(numbers[-1])
    with client.create_reader(function.output) as reader:
        found = reader.receive_many(4, 10.0, count_min=3)
        assert [message.data for message in found] == [b"1", b"2", b"3"]
        assert not reader.has_message_available()
    by_number = {bool(message.producer_name.startswith("function:")) for message in found}
    assert by_number == {not has_transactions}
    assert read_state(client, config).counters() == {"all": 3}


def test_a_run_that_cannot_be_sent_as_a_whole_leaves_nothing(broker, client, function):
    function.send(*range(10, 20))
    config = function.config("Misdirecting", processingGuarantees="EFFECTIVELY_ONCE")
    with pytest.raises(MagnetarError, match="no-tenant"):
        Instance(client, config, clock=SystemClock(), admin_url=broker.web_url).run()
    with client.create_reader(function.output) as reader:
        assert not reader.has_message_available()
    assert function.unacknowledged(config, 10) == list(range(10, 20))


def test_a_message_that_failed_comes_again(function):
    function.send(5, 6)
    with function.run(function.config("Hesitant"), redelivery_delay_s=0.1):
        assert sorted(function.received(2)) == [b"5", b"6"]


def test_what_cannot_be_sent_for_one_message_keeps_no_others_back(function):
    function.send(*range(10, 20))
    config = function.config("Misdirecting")
    with function.run(config) as running:
        expected = {b"%d" % n for n in range(10, 20) if n not in (13, 14)}
        found = set()
        while not expected <= found:
            found |= set(function.received(len(found) + 1))
    (status,) = running.status()
    assert status["numSystemExceptions"] >= 1
    assert status["numUserExceptions"] == 1
    assert sorted(function.unacknowledged(config, 2)) == [13, 14]


def test_a_message_that_takes_too_long_is_delivered_again(function):
    function.send(5)
    with function.run(function.config("Slow", timeoutMs=300, parallelism=2)):
        assert function.received(2) == [b"5", b"5"]


def test_after_so_many_times_it_is_a_dead_letter(function):
    dead = f"{function.output}-dead"
    config = function.config("Careful", maxMessageRetries=2, deadLetterTopic=dead)
    function.send(12, 13, 14)
    with function.run(config, redelivery_delay_s=0.1) as running:
        assert sorted(function.received(2)) == [b"12", b"14"]
        assert function.received(1, dead) == [b"13"]
        assert running.status()[0]["numUserExceptions"] == 3


@pytest.mark.parametrize(
    "keys", [{"retainOrdering": True}, {"processingGuarantees": "EFFECTIVELY_ONCE"}]
)
def test_in_order_a_dead_letter_stops_nothing(function, keys):
    dead = f"persistent://public/default/{function.config('Careful').name}-DLQ"
    function.send(12, 13, 14)
    config = function.config("Careful", **keys)
    with function.run(config):
        assert function.received(2) == [b"12", b"14"]
        assert function.received(1, dead) == [b"13"]


def test_all_that_a_context_does(function):
    log_topic, elsewhere = f"{function.output}-log", "elsewhere"
    config = function.config(
        "Telling", logTopic=log_topic, userConfig={"factor": 2}, secrets={"password": "x"}
    )
    function.send(5)
    with function.run(config) as running:
        told = json.loads(function.received(1)[0])
        assert told[3:] == [f"persistent://public/default/{function.input}", config.fqfn, 0, 2, "x"]
        assert function.received(1, elsewhere) == [b'{"input": 5}']
        assert function.received(1, log_topic)[0].endswith(b"got 5")
        assert running.status()[0]["userMetrics"]["size"]["count"] == 1


def test_what_the_function_acknowledges_is_acknowledged_and_nothing_else(function):
    config = function.config("Acknowledging", autoAck=False)
    with function.run(config) as running:
        function.send(1)
        function.send(2)
        function.send(3)
        while running.status()[0]["numSuccessfullyProcessed"] < 3:
            running.wait(0.01)
    assert sorted(function.unacknowledged(config, 2)) == [1, 3]


def test_windows_acknowledge_what_is_in_no_later_one(function):
    config = function.config("Sum", windowConfig={"windowLengthCount": 2})
    with function.run(config):
        for value in (1, 2, 3):
            function.send(value)
        assert function.received(1) == [b"3"]
    function.send(4)
    with function.run(config):
        assert function.received(2) == [b"3", b"7"]


def test_two_instances_share_the_partitions_where_each_message_counts_once(broker, function):
    create_partitioned_topic(broker.web_url, TopicName.parse(function.input), 3)
    config = function.config("Double", processingGuarantees="EFFECTIVELY_ONCE", parallelism=2)
    function.send(*range(100))
    with function.run(config) as running:
        assert sorted(map(int, function.received(100))) == list(range(0, 200, 2))
        assert sum(each["numReceived"] for each in running.status()) == 100


def test_key_ordering_and_keys_of_the_output(client, function):
    config = function.config("Double", retainKeyOrdering=True)
    with client.create_producer(function.input) as producer:
        producer.send_many([OutgoingMessage(b"%d" % n, key=f"{n % 2}") for n in range(10)])
    with function.run(config), client.create_reader(function.output) as reader:
        keys = [reader.receive(10.0).key for _ in range(10)]
    assert keys == [f"{n % 2}" for n in range(10)]


def test_a_pattern_of_inputs(function):
    config = function.config(
        "Double", inputs=[], topicsPattern=f"public/default/{function.input}.*"
    )
    function.send(5)
    with function.run(config):
        assert function.received(1) == [b"10"]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"topicsPattern": "public/default/.*"}, "has to be the only input"),
        (
            {
                "inputs": [],
                "topicsPattern": "public/default/x.*",
                "processingGuarantees": "EFFECTIVELY_ONCE",
            },
            "inputs that are named",
        ),
    ],
)
def test_what_cannot_be_done_is_refused(client, broker, function, keys, said):
    config = function.config("Double", **keys)
    with pytest.raises(InvalidValue, match=said):
        Instance(client, config, clock=SystemClock(), admin_url=broker.web_url).run()


def test_effectively_once_needs_the_admin_url(client, function):
    config = function.config("Double", processingGuarantees="EFFECTIVELY_ONCE")
    with pytest.raises(InvalidValue, match="give the admin URL"):
        Instance(client, config, clock=SystemClock())
