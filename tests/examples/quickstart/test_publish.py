import json

import pytest
from quickstart import flights
from quickstart.publish import publish, to_messages
from quickstart.thread_group import Stopped, ThreadGroup
from quickstart.topics import create_partitioned_topic
from support.flights import first_flights

from magnetar.model.names import TopicName
from magnetar.spark.offsets import NOTHING_READ
from magnetar.spark.planning import Range
from magnetar.spark.range_read import RangeReader


def test_each_flight_is_a_message_with_its_carrier_and_time():
    some = first_flights()[:20]
    messages = to_messages(some)
    assert [one.key for one in messages] == [flight.carrier for flight in some]
    assert [json.loads(one.value)["id"] for one in messages] == [one.flight_id for one in some]
    assert [one.event_time_ms for one in messages] == flights.event_times_ms(some)


@pytest.mark.parametrize("partitions", [0, 3])
def test_every_message_is_published_and_the_ends_are_known(
    client, magnetar_broker, board, partitions
):
    topic = TopicName.parse(f"public/default/published-{partitions}")
    if partitions:
        create_partitioned_topic(magnetar_broker.web_url, topic, partitions)
    messages = to_messages(first_flights())
    stage = board.published
    ends = publish(client, topic, messages, stage, ThreadGroup())
    assert stage.count == 6000
    reader = RangeReader(client, rows_max=1000, timeout_s=10.0, fail_on_data_loss=True)
    carriers: dict[str, set[str]] = {}
    ids = []
    for name, end in ends.items():
        for entries in reader.read(Range(name, NOTHING_READ, end)):
            found = [one for entry in entries for one in entry.messages()]
            ids += [json.loads(one.data)["id"] for one in found]
            for one in found:
                carriers.setdefault(one.key, set()).add(name)
    assert sorted(ids) == sorted(json.loads(one.value)["id"] for one in messages)
    assert all(len(names) == 1 for names in carriers.values())  # A carrier has one partition.


def test_publishing_stops_when_asked(client, board):
    threads = ThreadGroup()
    threads.stopping.set()
    stage = board.published
    messages = to_messages(first_flights()[:10])
    topic = TopicName.parse("public/default/unpublished")
    with pytest.raises(Stopped):
        publish(client, topic, messages, stage, threads)
    assert stage.count == 0
