"""Programs for ``pulsar.asyncio`` do the same with ours: each test runs with both."""

import asyncio
import subprocess
import sys

import pulsar as official
import pulsar.asyncio
import pytest
from support.admin import ask

import magnetar.compat.asyncio  # noqa: F401
from magnetar import compat

pytestmark = pytest.mark.compatibility


@pytest.fixture(params=[official, compat], ids=["official", "ours"])
def pulsar(request):
    return request.param


@pytest.fixture
async def client(pulsar, broker):
    quiet = pulsar.ConsoleLogger(pulsar.LoggerLevel.Error)
    client = pulsar.asyncio.Client(broker.service_url, logger=quiet, operation_timeout_seconds=20)
    yield client
    await client.close()


@pytest.fixture
def topic(topic, request):
    return f"{topic}-{request.node.callspec.id}"


async def received(consumer, count):
    messages = [await asyncio.wait_for(consumer.receive(), 20) for _ in range(count)]
    for message in messages:
        await consumer.acknowledge(message)
    return messages


def data(messages):
    return [message.data() for message in messages]


@pytest.mark.unmoved  # What is not acknowledged comes again from where a topic is moved to.
async def test_what_is_sent_is_received(client, topic):
    consumer = await client.subscribe(topic, "s", consumer_name="c")
    producer = await client.create_producer(topic, producer_name="p")
    assert (producer.topic(), producer.producer_name()) == (topic, "p")
    assert (consumer.topic(), consumer.subscription_name()) == (topic, "s")
    assert consumer.consumer_name() == "c"
    assert producer.is_connected()
    ids = await asyncio.gather(
        *(producer.send(b"%d" % n, {"n": str(n)}, "k", event_timestamp=n + 1) for n in range(50))
    )
    messages = await received(consumer, 50)
    assert data(messages) == [b"%d" % n for n in range(50)]
    assert [str(m.message_id()) for m in messages] == [str(each) for each in ids]
    assert messages[3].properties() == {"n": "3"}
    assert (messages[3].partition_key(), messages[3].event_timestamp()) == ("k", 4)
    assert ids[0].batch_index() == 0, "batching is on by default here"
    await producer.flush()
    assert producer.last_sequence_id() == 49
    last = await consumer.get_last_message_id()
    assert (last.ledger_id(), last.entry_id()) == (ids[-1].ledger_id(), ids[-1].entry_id())


@pytest.mark.unmoved
async def test_messages_come_again(pulsar, client, topic):
    consumer = await client.subscribe(
        topic, "s", pulsar.ConsumerType.Shared, negative_ack_redelivery_delay_ms=100
    )
    producer = await client.create_producer(topic)
    await producer.send(b"1")
    message = await asyncio.wait_for(consumer.receive(), 20)
    await consumer.negative_acknowledge(message)
    again = await asyncio.wait_for(consumer.receive(), 20)
    assert again.redelivery_count() == 1
    consumer.redeliver_unacknowledged_messages()
    [again] = await received(consumer, 1)
    assert again.redelivery_count() == 2


async def test_a_consumer_seeks_and_marks(pulsar, client, topic):
    producer = await client.create_producer(topic)
    ids = [await producer.send(b"%d" % n) for n in range(5)]
    consumer = await client.subscribe(topic, "s", start_message_id_inclusive=True)
    await consumer.seek(ids[2])
    messages = [await asyncio.wait_for(consumer.receive(), 20) for _ in range(3)]
    assert data(messages) == [b"2", b"3", b"4"]
    await consumer.acknowledge_cumulative(messages[1])
    await consumer.close()
    consumer = await client.subscribe(topic, "s")
    assert data(await received(consumer, 1)) == [b"4"]
    await consumer.seek(0)
    assert data(await received(consumer, 1)) == [b"0"]
    with pytest.raises(ValueError, match="invalid messageid type"):
        await consumer.seek("x")
    shared = await client.subscribe(topic, "shared", pulsar.ConsumerType.Shared)
    with pytest.raises(pulsar.asyncio.PulsarException) as refused:
        await shared.acknowledge_cumulative(messages[0])
    assert refused.value.error() == pulsar.Result.CumulativeAcknowledgementNotAllowedError


async def test_a_reader_reads(pulsar, client, topic):
    producer = await client.create_producer(topic)
    ids = [await producer.send(b"%d" % n) for n in range(5)]
    reader = await client.create_reader(topic, ids[2])
    assert reader.topic() == topic
    assert reader.is_connected()
    found = []
    while await reader.has_message_available():
        found.append((await reader.read_next()).data())
    assert found == [b"3", b"4"]
    await reader.seek(pulsar.MessageId.wrap(pulsar.MessageId.earliest))
    assert (await reader.read_next()).data() == b"0"
    await reader.close()
    assert not reader.is_connected()


@pytest.mark.unmoved  # What is not acknowledged comes again from where a topic is moved to.
async def test_topics_may_be_many(broker, client, topic):
    ask(broker, "PUT", topic.replace("://", "/") + "/partitions", 2)
    names = [f"{topic}-partition-{n}" for n in range(2)]
    assert await client.get_topic_partitions(topic) == names
    matched = await client.subscribe(topic[:-1] + ".", "p", is_pattern_topic=True)
    listed = await client.subscribe(names, "l")
    producer = await client.create_producer(
        topic, message_router=lambda message, partitions: int(message.data()) % partitions
    )
    for n in range(4):
        assert (await producer.send(b"%d" % n)).partition() == n % 2
    for consumer in (matched, listed):
        assert sorted(data(await received(consumer, 4))) == [b"0", b"1", b"2", b"3"]
    with pytest.raises(ValueError, match="do not support"):
        await client.subscribe([topic], "s", is_pattern_topic=True)


async def test_records_have_schemas(pulsar, client, topic):
    class Person(pulsar.schema.Record):
        name = pulsar.schema.String()

    for kind in (pulsar.schema.JsonSchema, pulsar.schema.AvroSchema):
        schema = kind(Person)
        name = f"{topic}-{kind.__name__}"
        consumer = await client.subscribe(name, "s", schema=schema)
        producer = await client.create_producer(name, schema=schema)
        await producer.send(Person(name="x"))
        [message] = await received(consumer, 1)
        assert message.value() == Person(name="x")


async def test_errors_have_their_result(pulsar, client, topic):
    error = pulsar.asyncio.PulsarException
    first = await client.subscribe(topic, "s")
    with pytest.raises(error) as busy:
        await client.subscribe(topic, "s")
    assert busy.value.error() == pulsar.Result.ConsumerBusy
    assert str(busy.value).startswith("13 ConsumerBusy")
    await first.unsubscribe()
    with pytest.raises(error) as closed:
        await first.receive()
    assert closed.value.error() == pulsar.Result.AlreadyClosed
    producer = await client.create_producer(topic)
    with pytest.raises(error) as too_big:
        await producer.send(b"x" * 6_000_000)
    assert too_big.value.error() == pulsar.Result.MessageTooBig
    with pytest.raises(ValueError, match="can't be enabled together"):
        await client.create_producer(topic, chunking_enabled=True)
    await producer.close()
    with pytest.raises(TypeError):
        pulsar.asyncio.Client("pulsar://a:1", unknown=5)


async def test_a_receive_that_is_given_up_loses_nothing(broker):
    """With the official client the message is lost."""
    topic = "given-up"
    client = compat.asyncio.Client(broker.service_url)
    consumer = await client.subscribe(topic, "s")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(consumer.receive(), 0.05)
    producer = await client.create_producer(topic)
    await producer.send(b"x")
    assert data(await received(consumer, 1)) == [b"x"]
    client.shutdown()
    with pytest.raises(compat.asyncio.PulsarException):
        await asyncio.wait_for(consumer.receive(), 20)
    await client.close()


PROGRAM = """
import asyncio
import sys

import pulsar
from pulsar.asyncio import Client

client = Client(sys.argv[1], logger=pulsar.ConsoleLogger(pulsar.LoggerLevel.Error))

async def main():
    producer = await client.create_producer(sys.argv[2])
    print((await producer.send(b"x")).entry_id())
    await client.close()

asyncio.run(main())
"""


@pytest.mark.unmoved
def test_a_client_may_be_made_before_there_is_a_loop(broker, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    for number, interpreter in enumerate(([], ["-m", "magnetar.compat"])):
        command = [sys.executable, *interpreter, str(tmp_path / "program.py")]
        done = subprocess.run(
            [*command, broker.service_url, "made-before-a-loop"],
            check=bool(number),  # The official one sometimes dies when all is done.
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.stdout.strip() == str(number)
