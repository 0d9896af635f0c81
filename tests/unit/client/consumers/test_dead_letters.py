"""Messages that were redelivered too often are stored elsewhere, or given to the application."""

import asyncio
from dataclasses import replace

import pytest
from support.loop import until
from unit.client.consumers.test_dead_letter_policy import ORDERS, message

from magnetar.client.consumers.dead_letter_policy import DeadLetterPolicy, dead_letter_rules
from magnetar.client.consumers.dead_letters import Channel, DeadLetters, DeadLetterSetup
from magnetar.client.consumers.receive_queue import Opened
from magnetar.errors import NotAllowed, TimedOut, TopicNotFound, TopicTerminated
from magnetar.message.metadata import Encryption
from magnetar.model.names import TopicName

DEAD, RETRY = TopicName.parse("orders-s-DLQ"), TopicName.parse("orders-s-RETRY")


class Topics:
    """Stands in for the broker: opens producers, and keeps what they send."""

    def __init__(self):
        self.opened = []
        self.channels = []
        self.letters = []
        self.closed = []
        self.refusal = None  # Raised by what is done next.
        self.may_open = asyncio.Event()
        self.may_open.set()

    async def open(self, channel, initial_subscription):
        self.opened.append((channel.topic, initial_subscription))
        self.channels.append(channel)
        await self.may_open.wait()
        self.refuse()
        return Producer(self, channel.topic)

    def refuse(self):
        error, self.refusal = self.refusal, None
        if error is not None:
            raise error


class Producer:
    def __init__(self, topics, topic):
        self.topics, self.topic = topics, topic

    async def send(self, letter):
        self.topics.refuse()
        self.topics.letters.append((self.topic, letter))

    async def close(self):
        self.topics.closed.append(self.topic)


def ignore(_):
    """Do nothing about an outcome."""


def sender(topics, *, settled=ignore, enable_retry=True, producers_max=3, **policy):
    policy = DeadLetterPolicy(2, initial_subscription_name="keep", **policy)
    rules = dead_letter_rules(policy, [ORDERS], "s", enable_retry=enable_retry)
    setup = DeadLetterSetup(rules, topics.open)
    return DeadLetters(setup, ORDERS, settled, producers_max=producers_max)


async def test_letters_of_a_topic_share_a_producer():
    topics = Topics()
    topics.may_open.clear()
    letters = sender(topics)
    sending = [asyncio.ensure_future(letters.send(message())) for _ in range(2)]
    await asyncio.sleep(0)
    sending[0].cancel()  # The other one still waits for the producer.
    topics.may_open.set()
    await sending[1]
    await letters.send(message())
    assert topics.opened == [(DEAD, "keep")]
    assert [topic for topic, _ in topics.letters] == [DEAD, DEAD]
    await letters.close()
    assert topics.closed == [DEAD]


async def test_a_retry_waits_for_its_delay_and_the_last_one_is_dead():
    topics = Topics()
    letters = sender(topics)
    for before in ("0", "1", "2"):
        await letters.later(message(properties={"RECONSUMETIMES": before}), 1.5, None)
    await letters.later(message(), 0, None)
    sent = [(topic, letter.deliver_after_s) for topic, letter in topics.letters]
    assert sent == [(RETRY, 1.5), (RETRY, 1.5), (DEAD, None), (RETRY, None)]
    assert topics.opened == [(RETRY, None), (DEAD, "keep")]


async def test_without_a_retry_topic_nothing_comes_later():
    with pytest.raises(NotAllowed, match="enable_retry=True"):
        await sender(Topics(), enable_retry=False).later(message(), 1, None)


@pytest.mark.parametrize("error", [TopicNotFound("no such topic"), TimedOut("no answer")])
async def test_a_producer_that_cannot_be_made_is_tried_again_with_the_next_letter(error):
    topics = Topics()
    letters = sender(topics)
    topics.refusal = error
    with pytest.raises(type(error)):
        await letters.send(message())
    await letters.send(message())
    assert len(topics.opened) == 2
    await letters.close()


@pytest.mark.parametrize(("error", "producers"), [(TopicTerminated("no"), 2), (TimedOut("no"), 1)])
async def test_a_producer_that_is_over_is_replaced(error, producers):
    topics = Topics()
    letters = sender(topics)
    await letters.send(message())
    topics.refusal = error
    with pytest.raises(type(error)):
        await letters.send(message())
    await letters.send(message())
    assert len(topics.opened) == producers
    await letters.close()
    assert len(topics.closed) == producers


def versioned(version):
    made = message()
    metadata = made.delivery.metadata
    made.delivery.metadata = replace(metadata, schema_version=version)
    return made


async def test_each_schema_has_a_producer_of_its_own_and_the_oldest_makes_room():
    topics = Topics()
    letters = sender(topics, producers_max=2)
    for version in (b"\1", b"\1", b"\2", b"", b"\1"):
        await letters.send(versioned(version))
    source = str(ORDERS)
    first, second = Channel(DEAD, source, b"\1"), Channel(DEAD, source, b"\2")
    assert topics.channels == [first, second, Channel(DEAD), first]
    await letters.close()
    assert topics.closed == [DEAD] * 4


async def test_what_was_encrypted_is_not_sent_in_the_open():
    topics = Topics()
    encrypted = message()
    metadata = encrypted.delivery.metadata
    encrypted.delivery.metadata = replace(metadata, encryption=Encryption((), b"", ""))
    with pytest.raises(NotAllowed, match="encryption_keys"):
        await sender(topics).send(encrypted)
    await sender(topics, producer_options={"encryption_keys": ["k"]}).send(encrypted)
    encrypted.delivery.decrypted = False
    with pytest.raises(NotAllowed, match="could not be decrypted"):
        await sender(topics, producer_options={"encryption_keys": ["k"]}).send(encrypted)
    assert len(topics.letters) == 1


async def test_nothing_is_left_of_a_producer_that_is_being_made_when_all_ends():
    topics = Topics()
    topics.may_open.clear()
    letters = sender(topics)
    sending = asyncio.ensure_future(letters.send(message()))
    await asyncio.sleep(0)
    await letters.close()
    with pytest.raises(asyncio.CancelledError):
        await sending
    assert topics.closed == []


class Desk:
    def __init__(self):
        self.topics = Topics()
        self.stored = []
        self.settled = []
        self.letters = sender(self.topics, settled=self.note)

    def note(self, outcome):
        self.stored += outcome.stored
        if not outcome.forgotten:
            self.settled.append((len(outcome.stored), outcome.refused))


def opened(count, *, messages=2):
    made = [message() for _ in range(messages)]
    for each in made:
        each.delivery.redelivery_count = count
    return Opened(made, 5)


async def test_what_came_as_often_as_it_may_is_delivered():
    desk = Desk()
    for count in (0, 2):
        entry = opened(count)
        assert desk.letters.filter(entry) is entry
    nothing = Opened([], 1)
    assert desk.letters.filter(nothing) is nothing
    await desk.letters.close()
    assert desk.topics.opened == []


async def test_what_came_more_often_is_stored_and_then_acknowledged():
    desk = Desk()
    desk.topics.may_open.clear()
    entry = opened(3)
    # Its other permits were for messages that are acknowledged.
    assert desk.letters.filter(entry) == Opened([], 3)
    assert desk.letters.held == 2
    await until(lambda: desk.topics.opened)
    assert desk.stored == []
    desk.topics.may_open.set()
    await desk.letters.sent(5.0)
    assert (desk.stored, desk.settled, desk.letters.held) == (entry.messages, [(2, [])], 0)
    await desk.letters.close()


async def test_what_is_refused_is_handed_back_and_logged_once(caplog):
    desk = Desk()
    desk.topics.refusal = TopicTerminated("it is over")
    first, second = opened(3), opened(4, messages=1)
    desk.letters.filter(first)
    desk.letters.filter(second)
    await desk.letters.sent(5.0)
    # Both wait for the one producer, which could not be made.
    assert desk.settled == [(0, [*first.messages, *second.messages])]
    [record] = caplog.records
    assert record.message == (
        f"consumer.dead_letters_refused topic={ORDERS} messages=3 "
        "error=TopicTerminated('it is over')"
    )
    await desk.letters.close()


async def test_what_comes_again_anyway_is_forgotten():
    desk = Desk()
    desk.topics.may_open.clear()
    first, second = opened(3), opened(3)
    desk.letters.filter(first)
    await until(lambda: desk.topics.opened)
    desk.letters.filter(second)
    desk.letters.clear()
    assert desk.letters.held == 0
    desk.topics.may_open.set()
    await desk.letters.sent(5.0)
    assert desk.stored == first.messages  # They were on their way.
    assert desk.settled == []  # Their permits went with the connection.
    await desk.letters.close()


async def test_waiting_for_letters_has_an_end():
    desk = Desk()
    desk.topics.may_open.clear()
    await desk.letters.sent(5.0)
    desk.letters.filter(opened(3))
    await asyncio.wait_for(desk.letters.sent(0.01), 5)
    await desk.letters.close()
    assert desk.stored == []
