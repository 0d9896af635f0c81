"""Readers and seeking, by the official client."""

import pulsar
import pytest
from compatibility.conftest import nothing_more
from pulsar import InitialPosition, MessageId

pytestmark = pytest.mark.compatibility

COUNT = 30


@pytest.fixture(params=[False, True], ids=["single", "batched"])
def written(request, official, topic):
    """A topic with COUNT numbered messages, and their ids."""
    producer = official.create_producer(
        topic,
        batching_enabled=request.param,
        batching_max_messages=7,
        batching_max_publish_delay_ms=1000,
    )
    ids = []
    for number in range(COUNT):
        producer.send_async(str(number).encode(), lambda _, message_id: ids.append(message_id))
    producer.flush()
    producer.close()
    assert len(ids) == COUNT
    return topic, ids


def read(reader):
    numbers = []
    while reader.has_message_available():
        numbers.append(int(reader.read_next(10_000).data()))
    return numbers


def test_a_reader_reads_everything_from_earliest(official, written):
    reader = official.create_reader(written[0], MessageId.earliest)
    assert read(reader) == list(range(COUNT))


def test_a_reader_at_latest_reads_only_what_comes(official, written):
    reader = official.create_reader(written[0], MessageId.latest)
    assert not reader.has_message_available()
    official.create_producer(written[0]).send(b"100")
    assert int(reader.read_next(10_000).data()) == 100


@pytest.mark.parametrize("inclusive", [False, True])
def test_a_reader_starts_at_any_message(official, written, inclusive):
    topic, ids = written
    reader = official.create_reader(topic, ids[10], start_message_id_inclusive=inclusive)
    assert read(reader) == list(range(10 if inclusive else 11, COUNT))


def test_a_reader_seeks_by_id_and_time(official, written):
    topic, ids = written
    reader = official.create_reader(topic, MessageId.earliest)
    first = reader.read_next(10_000)
    assert first.data() == b"0"
    reader.seek(ids[20])
    assert read(reader) == list(range(21, COUNT))
    reader.seek(first.publish_timestamp())
    assert read(reader)[0] == 0


def test_a_consumer_seeks_by_id_and_by_time(official, written):
    topic, ids = written
    consumer = official.subscribe(
        topic, "s", initial_position=InitialPosition.Earliest, start_message_id_inclusive=True
    )
    messages = [consumer.receive(10_000) for _ in range(COUNT)]
    consumer.acknowledge_cumulative(messages[-1])
    consumer.seek(ids[5])
    assert consumer.receive(10_000).data() == b"5"
    consumer.seek(messages[0].publish_timestamp())
    assert consumer.receive(10_000).data() == b"0"
    consumer.seek(MessageId.latest)
    nothing_more(consumer)


def test_the_last_message_id_is_the_last_receipts(official, written):
    topic, ids = written
    consumer = official.subscribe(topic, "s")
    last = consumer.get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (ids[-1].ledger_id(), ids[-1].entry_id())


def test_unsubscribing_forgets_what_was_acknowledged(official, written):
    topic, _ = written
    consumer = official.subscribe(topic, "s", initial_position=InitialPosition.Earliest)
    consumer.acknowledge_cumulative([consumer.receive(10_000) for _ in range(COUNT)][-1])
    consumer.unsubscribe()
    consumer = official.subscribe(topic, "s", initial_position=InitialPosition.Earliest)
    assert consumer.receive(10_000).data() == b"0"


def test_a_missing_namespace_is_refused(official):
    with pytest.raises(pulsar.PulsarException):
        official.create_producer("persistent://public/nosuch/x")
