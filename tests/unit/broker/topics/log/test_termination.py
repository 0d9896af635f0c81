"""The end of a topic, as its clients' ends see it."""

import pytest

from magnetar.broker.topics.log.termination import TERMINATED_AT
from magnetar.errors import Fenced, NotAllowed, TopicTerminated
from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType

END = ("end", 1)


def told(end):
    return [what for what in end.sent if what[0] == "end"]


async def test_the_last_entry_is_the_end_and_stays_it(bench):
    await bench.publish("a", "b")
    last = bench.topic.last_position
    assert bench.topic.terminated_at is None
    assert await bench.topic.terminate() == last == bench.topic.terminated_at
    assert await bench.topic.terminate() == last
    assert bench.topic.ledger.properties[TERMINATED_AT] == str(last)


async def test_what_was_taken_before_is_stored_and_answered_before_its_producer_is_let_go(
    bench, client_end, make_run, make_entry
):
    end = client_end()
    producer = await bench.topic.attach_producer(end, 1, "p")
    producer.publish(make_run(make_entry("a"), make_entry("b")))
    assert await bench.topic.terminate() == bench.topic.last_position
    assert [what[0] for what in end.sent] == ["receipts", "close_producer"]
    assert bench.topic.last_position.entry_id == 1
    producer.publish(make_run(make_entry("late")))
    assert bench.topic.last_position.entry_id == 1


async def test_no_producer_is_attached_any_more(bench, client_end):
    await bench.topic.terminate()
    with pytest.raises(TopicTerminated, match="Topic was already terminated"):
        await bench.topic.attach_producer(client_end(), 1, "p")


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_a_consumer_is_told_once_everything_is_acknowledged(bench, kind):
    await bench.publish("a", "b", "c")
    end, subscription, consumer = await bench.consumer(kind)
    await end.until(lambda e: len(e.got()) == 3)
    positions = end.positions()
    subscription.acknowledge(consumer, positions[:1])
    await bench.topic.terminate()
    assert not told(end)
    subscription.acknowledge(consumer, positions[1:2])
    assert not told(end)
    subscription.acknowledge(consumer, positions[2:])
    assert told(end) == [END]
    await bench.topic.terminate()
    assert told(end) == [END, END]


async def test_cumulative_acknowledgements_and_an_administrator_get_there_too(bench):
    await bench.publish("a", "b", "c")
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await end.until(lambda e: len(e.got()) == 3)
    await bench.topic.terminate()
    subscription.acknowledge_cumulative(consumer, end.positions()[1])
    assert not told(end)
    await bench.topic.skip(subscription)
    assert told(end) == [END]
    await subscription.seek(lambda: at_start(bench))
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await end.until(lambda e: len(e.got()) == 3)
    assert not told(end)
    subscription.acknowledge_cumulative(consumer, end.positions()[2])
    assert told(end) == [END]


async def at_start(bench):
    return bench.topic.log.first


async def test_who_comes_later_is_told_when_it_asks_for_more(bench):
    await bench.publish("a")
    await bench.topic.terminate()
    end, _, _ = await bench.consumer(SubscriptionType.SHARED, subscription="new")
    await end.until(lambda e: e.got() == ["a"])
    assert not told(end)
    subscription = await bench.topic.create_subscription("read", Position(2**60, 0))
    assert not subscription.backlog
    end, _, _ = await bench.consumer(SubscriptionType.SHARED, subscription="read")
    assert told(end) == [END]


async def test_a_topic_without_messages_ends_before_its_first(bench, client_end):
    assert (await bench.topic.terminate()).entry_id == -1
    with pytest.raises(TopicTerminated):
        await bench.topic.attach_producer(client_end(), 1, "p", initial_subscription="s")
    assert not bench.topic.subscriptions


async def test_a_topic_that_cannot_note_its_end_is_opened_afresh(bench, client_end):
    await bench.publish("a")
    end = client_end()
    await bench.topic.attach_producer(end, 1, "p")
    bench.topic.ledger._list.fence("by a test")
    with pytest.raises(Fenced):
        await bench.topic.terminate()
    assert bench.failed == [bench.topic]
    assert end.sent[-1][0] == "close_producer"


async def test_its_end_is_no_property_of_its_users(bench):
    await bench.topic.log.change_properties({"owner": "me", "x": "y"})
    await bench.topic.log.change_properties({"x": "z"}, ("owner", "nobody"))
    await bench.topic.terminate()
    assert bench.topic.log.properties == {"x": "z"}
    with pytest.raises(NotAllowed, match=TERMINATED_AT):
        await bench.topic.log.change_properties({TERMINATED_AT: "9:9"})
    with pytest.raises(NotAllowed):
        await bench.topic.log.change_properties({}, (TERMINATED_AT,))
    assert (await bench.topic.log.last_message_id())[0] == EARLIEST
