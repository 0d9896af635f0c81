"""One consumer over several topics: what it does with its parts, given by hand."""

import asyncio
from collections import deque

import pytest

from magnetar.client import consumer as room
from magnetar.client.consumer import Consumer
from magnetar.client.message import Delivery, Message
from magnetar.errors import InvalidValue, NotAllowed, TimedOut, TopicNotFound
from magnetar.message.entry import join
from magnetar.message.metadata import build, parse
from magnetar.model.position import EARLIEST_MESSAGE, MessageId, Position
from magnetar.model.subscriptions import SubscriptionType

METADATA = parse(join(build("p", 0, 0), b""))


class Part:
    """Stands in for one topic's broker: gives what was put, remembers what it is told."""

    def __init__(self, topic, partition=-1):
        self.topic = topic
        self.partition = partition
        self.connected = self.active = True
        self.reached_end = False
        self.over = None
        self.messages = deque()
        self.told = []
        self.acks = self
        self.available = False
        self.last_id = None

    def put(self, consumer, *payloads):
        for number, payload in enumerate(payloads):
            delivery = Delivery(
                self.topic,
                Position(1, number),
                self.partition,
                0,
                METADATA,
                0,
                redelivered=False,
            )
            self.messages.append(Message(delivery, -1, b"", payload))
        consumer.arrived(self)

    @property
    def waiting(self):
        return bool(self.messages)

    def pop(self):
        return self.messages.popleft() if self.messages else None

    def take(self, count_max):
        return [self.messages.popleft() for _ in range(min(count_max, len(self.messages)))]

    def acknowledge(self, messages):
        self.told.append(("many", [message.data for message in messages]))

    def acknowledge_one(self, message):
        self.told.append(("one", message))

    def acknowledge_cumulative(self, message):
        self.told.append(("upto", message))

    def flush(self):
        self.told.append("flush")

    def redeliver(self, messages):
        self.told.append(("again", messages and len(messages)))

    async def seek(self, message_id, *, inclusive):
        self.told.append(("seek", message_id, inclusive))

    async def seek_time(self, publish_time_ms):
        self.told.append(("time", publish_time_ms))

    async def seek_last(self):
        self.told.append("last")

    async def last(self):
        return self.last_id, Position(-1, -1)

    async def has_message_available(self):
        return self.available

    async def unsubscribe(self, *, force):
        self.told.append(("unsubscribe", force))

    async def close(self):
        self.told.append("close")


def over(*parts, kind=SubscriptionType.EXCLUSIVE):
    made = Consumer("topics", "s", "me", kind, closed=lambda _: None)
    for part in parts:
        made.add(part)
    return made


@pytest.fixture
def parts():
    return [Part("a", 0), Part("b", 1)]


@pytest.fixture
async def consumer(parts):
    return over(*parts)


async def data(consumer, count, **options):
    return [message.data for message in await consumer.receive_many(count, **options)]


async def test_it_says_what_it_is(consumer, parts):
    assert (consumer.topic, consumer.subscription, consumer.name) == ("topics", "s", "me")
    assert consumer.topics == ["a", "b"]
    assert consumer.connected
    assert consumer.active
    assert not consumer.reached_end
    parts[0].connected = parts[0].active = False
    parts[0].reached_end = True
    assert not consumer.connected
    assert consumer.active
    assert not consumer.reached_end


async def test_every_topic_has_its_turn(consumer, parts, monkeypatch):
    monkeypatch.setattr(room, "TURN_MAX", 2)
    parts[0].put(consumer, *[b"a%d" % n for n in range(5)])
    parts[1].put(consumer, b"b0", b"b1", b"b2")
    assert await data(consumer, 100) == [b"a0", b"a1", b"b0", b"b1", b"a2", b"a3", b"b2", b"a4"]


async def test_single_messages_take_turns_too(consumer, parts):
    parts[0].put(consumer, b"a0", b"a1")
    parts[1].put(consumer, b"b0", b"b1")
    found = [(await consumer.receive(1)).data for _ in range(4)]
    assert found == [b"a0", b"b0", b"a1", b"b1"]


async def test_it_waits_for_the_first_message(consumer, parts):
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    parts[1].put(consumer, b"b0")
    assert (await waiting).data == b"b0"


async def test_several_who_wait_get_one_each(consumer, parts):
    waiting = [asyncio.ensure_future(consumer.receive()) for _ in range(3)]
    await asyncio.sleep(0)
    parts[0].put(consumer, b"a0", b"a1")
    await asyncio.sleep(0)
    parts[1].put(consumer, b"b0")
    assert sorted(message.data for message in await asyncio.gather(*waiting)) == [
        b"a0",
        b"a1",
        b"b0",
    ]


async def test_a_wake_up_for_nothing_waits_on(consumer, parts):
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    parts[0].put(consumer)
    await asyncio.sleep(0)
    assert not waiting.done()
    parts[0].put(consumer, b"a0")
    assert (await waiting).data == b"a0"


async def test_time_runs_out(consumer):
    with pytest.raises(TimedOut, match="no message from topics within 0"):
        await consumer.receive(0.01)
    assert await consumer.receive_many(5, 0.01) == []


async def test_a_cancelled_receive_loses_nothing(consumer, parts):
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    parts[0].put(consumer, b"a0")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await data(consumer, 5) == [b"a0"]


async def test_iterating_ends_with_the_consumer(consumer, parts):
    parts[0].put(consumer, b"a0", b"a1")
    found = []
    async for message in consumer:
        found.append(message.data)
        if len(found) == 2:
            await consumer.close()
    assert found == [b"a0", b"a1"]


async def test_a_part_that_is_over_is_an_error_once_the_rest_is_received(consumer, parts):
    parts[1].put(consumer, b"b0")
    parts[0].over = TopicNotFound("deleted")
    consumer.arrived(parts[0])
    assert await data(consumer, 5) == [b"b0"]
    with pytest.raises(TopicNotFound, match="deleted"):
        await consumer.receive()
    with pytest.raises(TopicNotFound, match="deleted"):
        async for _ in consumer:
            pass


async def test_acknowledgements_go_where_the_messages_came_from(consumer, parts):
    parts[0].put(consumer, b"a0", b"a1")
    parts[1].put(consumer, b"b0")
    messages = await consumer.receive_many(5)
    consumer.acknowledge(iter([*messages[:2], messages[2], messages[0]]))
    assert parts[0].told == [("many", [b"a0", b"a1"]), ("many", [b"a0"])]
    assert parts[1].told == [("many", [b"b0"])]
    consumer.acknowledge(messages[2])
    consumer.acknowledge_cumulative(messages[2])
    assert parts[1].told[1:] == [("one", messages[2]), ("upto", messages[2])]


async def test_an_id_goes_to_its_partition(consumer, parts):
    consumer.acknowledge(MessageId(1, 2, 1))
    assert parts[1].told == [("one", MessageId(1, 2, 1))]
    with pytest.raises(InvalidValue, match="pass the message itself"):
        consumer.acknowledge(MessageId(1, 2, 7))


async def test_an_id_of_several_topics_is_refused():
    consumer = over(Part("a"), Part("b"))
    with pytest.raises(InvalidValue, match="which of 2 topics"):
        consumer.acknowledge(MessageId(1, 2))


async def test_of_one_topic_any_id_will_do():
    part = Part("a")
    over(part).acknowledge(MessageId(1, 2, 5))
    assert part.told == [("one", MessageId(1, 2, 5))]


async def test_a_message_of_another_consumer_is_refused(consumer):
    other = Part("elsewhere")
    receiver = over(other)
    other.put(receiver, b"x")
    with pytest.raises(InvalidValue, match="does not come from this consumer"):
        consumer.acknowledge(await receiver.receive())


@pytest.mark.parametrize("kind", [SubscriptionType.SHARED, SubscriptionType.KEY_SHARED])
async def test_nothing_cumulative_where_messages_are_shared(kind):
    with pytest.raises(NotAllowed, match=f"{kind.name} subscription"):
        over(Part("a"), kind=kind).acknowledge_cumulative(MessageId(1, 2))


async def test_flush_and_redelivery_reach_every_part(consumer, parts):
    parts[1].put(consumer, b"b0", b"b1")
    messages = await consumer.receive_many(5)
    await consumer.flush()
    await consumer.redeliver_unacknowledged()
    await consumer.redeliver_unacknowledged(messages)
    assert parts[0].told == ["flush", ("again", None)]
    assert parts[1].told == ["flush", ("again", None), ("again", 2)]


async def test_the_ends_move_every_part_and_an_id_its_own(consumer, parts):
    await consumer.seek(EARLIEST_MESSAGE)
    await consumer.seek(MessageId(1, 2, 1), inclusive=False)
    await consumer.seek_time(99)
    await consumer.seek_last()
    assert parts[0].told == [("seek", EARLIEST_MESSAGE, True), ("time", 99), "last"]
    assert parts[1].told[1] == ("seek", MessageId(1, 2, 1), False)


async def test_the_last_message_is_the_greatest(consumer, parts):
    assert await consumer.last_message_id() is None
    parts[0].last_id = MessageId(3, 1, 0)
    assert await consumer.last_message_id() == MessageId(3, 1, 0)
    parts[1].last_id = MessageId(2, 9, 1)
    assert await consumer.last_message_id() == MessageId(3, 1, 0)


async def test_there_is_more_when_any_part_has(consumer, parts):
    assert not await consumer.has_message_available()
    parts[1].available = True
    assert await consumer.has_message_available()


async def test_unsubscribing_unsubscribes_all_and_closes(consumer, parts):
    await consumer.unsubscribe(force=True)
    assert [part.told for part in parts] == [[("unsubscribe", True), "close"]] * 2
    with pytest.raises(NotAllowed, match="closed"):
        await consumer.receive()


async def test_closing_wakes_who_waits_and_drops_what_is_left(consumer, parts):
    waiting = asyncio.ensure_future(consumer.receive())
    await asyncio.sleep(0)
    async with consumer:
        pass
    with pytest.raises(NotAllowed, match="closed"):
        await waiting
    assert [part.told for part in parts] == [["close"]] * 2
    assert not consumer.connected


async def test_a_topic_added_later_is_received_from(consumer):
    late = Part("c", 2)
    late.put(consumer, b"c0")
    consumer.add(late)
    assert await data(consumer, 5) == [b"c0"]
    assert consumer.topics == ["a", "b", "c"]
