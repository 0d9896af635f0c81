"""What a broker is told when a consumer subscribes; ``test_topic_consumer.py`` shows the rest."""

from magnetar.client.consumers.config import ConsumerConfig
from magnetar.client.consumers.read_position import Start
from magnetar.client.consumers.subscribing import Subscribing
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.model.subscriptions import InitialPosition
from magnetar.wire.frames import FrameDecoder


def told(subscribing, **where):
    data = subscribing.command(3, 7, ConsumerConfig(), **{"start": None, "epoch": 0, **where})
    [frame] = FrameDecoder().feed(data)
    return frame.command.subscribe


def test_a_subscription_that_stays_is_durable():
    command = told(Subscribing(TopicName.parse("t"), "s", "me", 10, None))
    assert (command.topic, command.subscription) == ("persistent://public/default/t", "s")
    assert (command.consumer_id, command.request_id, command.consumer_name) == (3, 7, "me")
    assert command.durable
    assert not command.HasField("start_message_id")
    assert not command.HasField("consumer_epoch")


def test_one_that_does_not_stay_goes_on_where_it_was():
    begin, here = (Start(MessageId(1, entry), inclusive=False) for entry in (4, 9))
    reader = Subscribing(TopicName.parse("t"), "s", "me", 10, begin)
    command = told(reader, start=here, epoch=2)
    assert not command.durable
    assert (command.start_message_id.entryId, command.consumer_epoch) == (9, 2)


def test_one_that_begins_at_the_end_says_so_twice():
    config = ConsumerConfig(initial_position=InitialPosition.EARLIEST)
    for message_id, expected in (
        (LATEST_MESSAGE, InitialPosition.LATEST),
        (EARLIEST_MESSAGE, InitialPosition.EARLIEST),
    ):
        start = Start(message_id, inclusive=False)
        reader = Subscribing(TopicName.parse("t"), "s", "me", 10, start)
        data = reader.command(3, 7, config, start=start, epoch=0)
        [frame] = FrameDecoder().feed(data)
        assert frame.command.subscribe.initialPosition == expected
