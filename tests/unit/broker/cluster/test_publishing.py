"""Publishing without a client: what becomes of each message."""

import pytest
from support.clock import ManualClock
from unit.broker.admin.messages.entries import entry_of

from magnetar.broker.cluster import publishing
from magnetar.broker.cluster.publishing import OperatorConnection, Publisher
from magnetar.broker.topics.topic import Topic
from magnetar.clock import SystemClock
from magnetar.errors import InvalidValue, ProducerBusy, TopicClosed
from magnetar.message.send_run import SendRun
from magnetar.model.policies import Policies
from magnetar.model.position import Position

NAME = "persistent://public/default/x"


@pytest.fixture
async def topic(world) -> Topic:
    return await world.topic(NAME)


async def test_places_are_known_when_the_messages_are_durable(topic):
    publisher = await Publisher.attach(topic, SystemClock(), name="me")
    assert "me" in topic.producers
    sequences = [publisher.next_sequence_id() for _ in range(3)]
    found = await publisher.publish(sequences, [entry_of(b"x")] * 3)
    assert found == [Position(topic.last_position.ledger_id, index) for index in range(3)]
    assert await publisher.publish([], []) == []
    await publisher.close()
    assert not topic.producers


async def test_sequence_ids_follow_the_highest(topic):
    publisher = await Publisher.attach(topic, SystemClock())
    asked = [None, 7, None, 3, None]
    assert [publisher.next_sequence_id(each) for each in asked] == [0, 7, 8, 3, 9]


async def test_a_refusal_is_the_message_s_own(topic):
    topic.apply(Policies(message_size_max=100, retention=None))
    publisher = await Publisher.attach(topic, SystemClock())
    found = await publisher.publish([0, 1], [entry_of(b"x" * 200), entry_of(b"y")])
    assert str(found[0]) == "Exceed maximum message size"
    assert found[1] == Position(topic.last_position.ledger_id, 0)


async def test_a_topic_that_must_be_encrypted_refuses(topic):
    topic.apply(Policies(encryption_required=True))
    with pytest.raises(InvalidValue, match="Encryption"):
        await Publisher.attach(topic, SystemClock())


async def test_two_of_a_name_do_not_fit(topic):
    await Publisher.attach(topic, SystemClock(), name="me")
    with pytest.raises(ProducerBusy):
        await Publisher.attach(topic, SystemClock(), name="me")


async def test_a_closing_topic_drops_and_a_stored_message_is_told_apart():
    connection = OperatorConnection("admin")
    run = SendRun.of(0, [1, 2], [b"", b""], [0, 0], [1, 1], [0, 0])
    answered = connection.expect([1, 2, 3, 4])
    connection.drop_sends(run)
    connection.send_unstored_receipts(
        SendRun.of(0, [3, 4], [b"", b""], [0, 0], [1, 1], [0, 0]), delivered=False
    )
    await answered
    assert isinstance(connection.outcomes[1], TopicClosed)
    assert connection.outcomes[3] is None


async def test_who_is_faster_than_the_rate_waits_for_the_answer(topic, monkeypatch):
    clock = ManualClock()
    slept = []

    async def sleep(seconds):
        slept.append(seconds)
        clock.move(seconds)

    monkeypatch.setattr(clock, "sleep", sleep)
    publisher = await Publisher.attach(topic, clock)
    waits = iter([0.5, 0.25, 0.0])
    publisher._connection.read_later(lambda: next(waits))
    await publisher.publish([0], [entry_of()])
    assert slept == [0.5, 0.25]
    publisher._connection.read_later(lambda: publishing.PAUSE_S_MAX)
    await publisher.publish([1], [entry_of()])
    assert slept[2:] == [publishing.PAUSE_S_MAX]
