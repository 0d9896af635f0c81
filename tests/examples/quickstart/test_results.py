import json
import threading
from types import SimpleNamespace

import pytest
from quickstart.figures import CarrierDay, Figures
from quickstart.reconcile import Window
from quickstart.results import Results, parse_window
from quickstart.thread_group import Stopped, ThreadGroup

from magnetar.model.names import TopicName


def window(day, flight_ids, **given):
    value = {"carrier": "UA", "day": day, "flights": len(flight_ids), "flight_ids": flight_ids}
    return json.dumps({**value, **given}).encode()


@pytest.fixture
def topics(request):
    names = (f"public/default/{request.node.name}-{what}" for what in ("results", "cancelled"))
    return [TopicName.parse(name) for name in names]


@pytest.fixture
def stage(board):
    return board.results


def test_a_figure_that_is_left_out_is_none():
    content = window("2013-01-01", [7], mean_departure_delay=1.5, worst_departure_delay=2)
    where, found = parse_window(content)
    assert where == CarrierDay("UA", "2013-01-01")
    assert found == Window(Figures(1, 1.5, 2, None, None), [7])


def test_its_time_begins_with_the_first_message(stage, clock):
    found = Results(stage)
    clock.move(60.0)  # Spark has started.
    found.add_windows([SimpleNamespace(data=window("2013-01-01", list(range(100))))])
    clock.move(10.0)
    found.add_cancelled([SimpleNamespace(data=b'{"carrier": "DL", "id": 100}')] * 100)
    assert stage.rate == 20


def test_topics_are_followed_to_their_ends_and_the_last_word_counts(client, topics, stage):
    results, cancelled = topics
    found = Results(stage)
    complete = threading.Event()
    arguments = (client, results, cancelled, complete, ThreadGroup())
    thread = threading.Thread(target=found.follow, args=arguments)
    thread.start()
    with client.create_producer(str(results)) as producer:
        producer.send_many([window("2013-01-01", [1]), window("2013-01-02", [2, 3])])
        producer.send_many([window("2013-01-01", [1, 4, 5])])
    with client.create_producer(str(cancelled)) as producer:
        producer.send_many([b'{"carrier": "DL", "id": 6}', b'{"carrier": "DL", "id": 6}'])
    complete.set()
    thread.join(30)
    assert not thread.is_alive()
    assert found.windows[CarrierDay("UA", "2013-01-01")].flight_ids == [1, 4, 5]
    assert found.updates == 3
    assert found.cancelled == [("DL", 6), ("DL", 6)]
    assert stage.count == 7
    assert stage.ended_s is not None


def test_following_stops_when_asked(client, topics, stage):
    threads = ThreadGroup()
    threads.stopping.set()
    with pytest.raises(Stopped):
        Results(stage).follow(client, *topics, threading.Event(), threads)
    assert stage.ended_s is None
