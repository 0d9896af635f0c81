"""Messages that nobody can send, given to our client among others: they alone are refused."""

import asyncio

import pytest
from support.admin import ask

from magnetar import InitialPosition, OutgoingMessage
from magnetar.client import blocking
from magnetar.errors import InvalidValue

SURROGATE = "caf\udce9"  # As os.fsdecode makes it of a file name that is not UTF-8.
BAD = [
    ({"key": SURROGATE}, r"key has the lone surrogate '\\udce9' at index 3.*take it out"),
    ({"key": 5}, "key must be str or bytes, not int: convert it"),
    ({"ordering_key": "text"}, "ordering_key must be bytes, not str: encode text"),
    ({"properties": {"a": SURROGATE}}, r"properties\['a'\] has the lone surrogate"),
    ({"properties": {SURROGATE: "a"}}, "the key .* of properties has the lone surrogate"),
    ({"properties": {"a": 5}}, r"properties\['a'\] must be str, not int: convert it"),
    ({"properties": {"a": None}}, r"properties\['a'\] must be str, not None: .*leave it out"),
    ({"properties": {"a": b"b"}}, r"properties\['a'\] must be str, not bytes"),
    ({"properties": {5: "a"}}, "the key 5 of properties must be str, not int"),
    ({"properties": ["a"]}, "properties must be a mapping of str to str, not list"),
    ({"event_time_ms": -1}, "event_time_ms is -1; it must be from 0 to"),
    ({"event_time_ms": 1.5}, "event_time_ms must be int, not float: convert it"),
    ({"sequence_id": 2**70}, "sequence_id is 1180591620717411303424; it must be from 0 to"),
    ({"sequence_id": -1}, "sequence_id is -1; it must be from 0 to"),
    ({"data": "text"}, r"data must be bytes, not str: encode text"),
    ({"data": None}, "data must be bytes, not None"),
    ({"data": 5}, "data must be bytes, not int"),
]
GOOD = [b"%d" % number for number in range(10)]


@pytest.fixture(params=[0, 3], ids=["one topic", "partitions"])
def topic(request, broker, topic):
    if request.param:
        ask(broker, "PUT", topic.replace("://", "/") + "/partitions", request.param)
    return topic


def bad_message(arguments):
    arguments = {"data": b"bad", **arguments}
    return arguments.pop("data"), arguments


async def stored(client, topic):
    """The payloads that can be read, sorted."""
    reader = await client.create_reader(topic)
    found = []
    while await reader.has_message_available():
        found += [message.data for message in await reader.receive_many(1000, 20)]
    return sorted(found)


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize(("arguments", "says"), BAD)
async def test_send_refuses_it_at_once_and_takes_the_others(
    client, topic, arguments, says, batching
):
    producer = await client.create_producer(topic, batching=batching)
    data, more = bad_message(arguments)
    receipts = [producer.submit(each) for each in GOOD[:5]]
    with pytest.raises(InvalidValue, match=says):
        producer.submit(data, **more)
    receipts += [producer.submit(each) for each in GOOD[5:]]
    async with asyncio.timeout(20):
        await asyncio.gather(*receipts)
        await producer.flush()
    assert await stored(client, topic) == GOOD


@pytest.mark.parametrize(("arguments", "says"), BAD)
async def test_send_nowait_does_too(client, topic, arguments, says):
    producer = await client.create_producer(topic, max_pending_messages=11)
    data, more = bad_message(arguments)
    for each in GOOD[:5]:
        producer.send_nowait(each)
    for _ in range(20):  # None of them takes any room.
        with pytest.raises(InvalidValue, match=says):
            producer.send_nowait(data, **more)
    for each in GOOD[5:]:
        producer.send_nowait(each)
    async with asyncio.timeout(20):
        await producer.flush()
    assert await stored(client, topic) == GOOD


@pytest.mark.parametrize("kind", ["plain", "more"])
@pytest.mark.parametrize(("arguments", "says"), BAD)
async def test_send_many_says_so_when_the_others_are_stored(client, topic, arguments, says, kind):
    producer = await client.create_producer(topic)
    data, more = bad_message(arguments)
    bad = OutgoingMessage(data, **more) if more or kind == "more" else data
    messages = [*GOOD[:5], bad, *GOOD[5:]]
    async with asyncio.timeout(20):
        with pytest.raises(InvalidValue, match=says):
            await producer.send_many(messages)
    assert await stored(client, topic) == GOOD


@pytest.mark.parametrize(("arguments", "says"), BAD)
@pytest.mark.unmoved
def test_the_blocking_client_does_all_of_this(broker, topic, arguments, says):
    data, more = bad_message(arguments)
    with blocking.Client(broker.service_url) as client, client.create_producer(topic) as producer:
        for each in GOOD[:3]:
            producer.send(each)
        with pytest.raises(InvalidValue, match=says):
            producer.send(data, **more)
        with pytest.raises(InvalidValue, match=says):
            producer.send_many([*GOOD[3:5], OutgoingMessage(data, **more), *GOOD[5:7]])
        with pytest.raises(InvalidValue, match=says):
            producer.enqueue([*GOOD[7:], OutgoingMessage(data, **more), b"not taken"])
        producer.flush()
        consumer = client.subscribe(topic, "s", initial_position=InitialPosition.EARLIEST)
        found = []
        while len(found) < len(GOOD):
            messages = consumer.receive_many(1000, 20)
            assert messages, f"{len(found)} of {len(GOOD)} messages came"
            found += [message.data for message in messages]
        assert sorted(found) == GOOD
        assert not consumer.has_message_available()


async def test_what_is_changed_after_send_is_sent_as_it_was(client, topic):
    producer = await client.create_producer(topic)
    properties, message = {}, OutgoingMessage(b"", key="k", properties={"n": "last"})
    for number in range(10):
        properties["n"] = str(number)
        producer.send_nowait(b"", key="k", properties=properties)
    properties["n"] = 5
    await producer.send_many([message] * 3)
    message.properties["n"] = None
    reader = await client.create_reader(topic)
    found = [(await reader.receive(20)).properties for _ in range(13)]
    assert found == [{"n": str(number)} for number in range(10)] + [{"n": "last"}] * 3
    assert message.sequence_id is None


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"name": SURROGATE}, "name has the lone surrogate"),
        ({"name": 5}, "name must be str, not int"),
        ({"properties": {"a": 5}}, r"properties\['a'\] must be str, not int"),
        ({"compression": "lz4"}, "compression is 'lz4'; it must be one of CompressionType.NONE, "),
        ({"compression": 1}, "compression is 1; it must be one of CompressionType.NONE, "),
        ({"hashing": "murmur3"}, "hashing is 'murmur3'; it must be one of HashingScheme"),
        ({"routing": "single"}, "routing is 'single'; it must be one of RoutingMode"),
        ({"batch_messages_max": "5"}, "batch_messages_max must be a number, not str"),
        ({"batch_delay_s": None}, "batch_delay_s must be a number, not None"),
        ({"send_timeout_s": float("nan")}, "send_timeout_s is nan"),
        ({"initial_sequence_id": 2**70}, "initial_sequence_id is 1180591620717411303424"),
    ],
)
async def test_a_producer_that_cannot_be_asked_for_is_refused_by_name(client, options, says):
    with pytest.raises(InvalidValue, match=says):
        await client.create_producer("t", **options)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"topic": 5}, "topic must be str, not int"),
        ({"topic": [None]}, "topic must be str, not None"),
        ({"topic": SURROGATE}, "topic has the lone surrogate"),
        ({"subscription": None}, "subscription must be str, not None"),
        ({"subscription": SURROGATE}, "subscription has the lone surrogate"),
        ({"type": "Shared"}, "type is 'Shared'; it must be one of SubscriptionType.EXCLUSIVE, "),
        ({"type": 1}, "type is 1; it must be one of SubscriptionType.EXCLUSIVE, "),
        ({"initial_position": "Earliest"}, "initial_position is 'Earliest'; it must be one of"),
        ({"name": b"me"}, "name must be str, not bytes"),
        ({"properties": {"a": None}}, r"properties\['a'\] must be str, not None"),
        ({"subscription_properties": {1: "a"}}, "the key 1 of subscription_properties must be"),
    ],
)
async def test_a_consumer_that_cannot_be_asked_for_is_refused_by_name(client, arguments, says):
    arguments = {"topic": "t", "subscription": "s", **arguments}
    with pytest.raises(InvalidValue, match=says):
        await client.subscribe(**arguments)
