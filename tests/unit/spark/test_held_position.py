# Uses a thread: a planner waits while another one ends.
from threading import Timer

import pytest

from magnetar.errors import ConsumerBusy
from magnetar.spark.held_position import HeldPosition
from magnetar.spark.offsets import NOTHING_READ, Offset, to_json
from magnetar.spark.read_options import ReadOptions


@pytest.fixture
def position(magnetar_broker, client, topic):
    client.create_producer(topic).close()
    made = []

    def position(**given):
        at = {"service.url": magnetar_broker.service_url, "topic": topic}
        made.append(HeldPosition(ReadOptions.parse({**at, **given}, streaming=True)))
        return made[-1]

    yield position
    for one in made:
        one.stop()


def test_each_new_query_has_another_name(position):
    names = set()
    for _ in range(2):
        query = position()
        assert query.begin() == query.begin()
        names.add(query.own_name)
    assert len(names) == 2


def test_the_name_is_that_in_the_checkpoint(position, topic):
    query = position()
    query.resume(to_json({topic: NOTHING_READ}, "spark-pulsar-1"))
    assert query.own_name == "spark-pulsar-1"


def test_no_subscription_is_warned_of(position, topic, caplog):
    query = position(subscription="none")
    query.resume(to_json({topic: NOTHING_READ}, query.begin()))
    query.move({topic: NOTHING_READ})
    assert query.own_name is None
    assert caplog.text.count("position_not_held") == 1


def test_the_planner_before_may_still_be_on_its_way_out(position, topic):
    told = to_json({topic: NOTHING_READ}, "spark-pulsar-2")
    before = position()
    before.resume(told)
    with pytest.raises(ConsumerBusy, match="a checkpoint of its own"):
        position(timeoutSeconds="0.3").resume(told)
    ending = Timer(0.2, before.stop)
    ending.start()
    position().resume(told)
    ending.join()


def test_where_a_topic_ends_is_asked_of_its_subscription(position, client, topic):
    query = position()
    assert query.last_offsets([topic]) == {}
    query.resume(to_json({topic: NOTHING_READ}, query.begin()))
    assert query.last_offsets([topic, f"{topic}-other"]) == {topic: None}
    with client.create_producer(topic, batching=False) as producer:
        sent = producer.send(b"x")
    assert query.last_offsets([topic]) == {topic: Offset(sent.ledger_id, sent.entry_id)}


def test_the_backlog_is_asked_for_once_a_second(magnetar_broker, client, topic):
    times_s = iter([0.0, 0.9, 1.0])
    given = {"service.url": magnetar_broker.service_url, "topic": topic}
    options = ReadOptions.parse(given, streaming=True)
    query = HeldPosition(options, now=lambda: next(times_s))
    found = []
    with client.create_producer(topic, batching=False) as producer:
        query.resume(to_json({topic: NOTHING_READ}, query.begin()))
        for _ in range(3):
            producer.send(b"x")
            found.append(query.backlog())
    query.stop()
    assert found == [{topic: 1}, {topic: 1}, {topic: 3}]
