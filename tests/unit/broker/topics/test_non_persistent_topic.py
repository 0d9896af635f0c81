"""A non-persistent topic: receipts at once, drops that are counted, and nothing kept."""

import pytest

from magnetar.broker.topics.publishing.producer_access import AccessRequest
from magnetar.errors import (
    ConsumerAssignFailed,
    ConsumerBusy,
    LimitReached,
    NotAllowed,
    ProducerBusy,
    ProducerFenced,
    SubscriptionNotFound,
    TopicClosed,
)
from magnetar.model.policies import Policies
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId

EXCLUSIVE, SHARED = SubscriptionType.EXCLUSIVE, SubscriptionType.SHARED
FAILOVER, KEY_SHARED = SubscriptionType.FAILOVER, SubscriptionType.KEY_SHARED


async def test_a_send_is_answered_although_nobody_takes_it(open_passing):
    bench = open_passing()
    assert await bench.publish("a", "b") == ("unstored", 1, 2, True)
    assert (bench.topic.message_count, bench.topic.entry_count) == (2, 2)
    assert bench.topic.storage_bytes == 0


async def test_every_subscription_gets_what_is_published_while_it_is_connected(open_passing):
    bench = open_passing()
    await bench.publish("missed")
    ends = [
        (await bench.consumer(kind, subscription=kind.printed))[0]
        for kind in (EXCLUSIVE, SHARED, FAILOVER, KEY_SHARED)
    ]
    await bench.publish("a", "b")
    assert [end.got() for end in ends] == [["a", "b"]] * 4
    assert {position for end in ends for position in end.positions()} == {(0, 0)}
    assert not any(what[0] == "active" for end in ends for what in end.sent)


async def test_what_there_are_no_permits_for_is_dropped_and_counted(open_passing):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(EXCLUSIVE, permits=2)
    await bench.publish("a", "b", "c", "d")
    subscription.flow(consumer, 10)
    await bench.publish("e")
    assert end.got() == ["a", "b", "e"]
    assert subscription.dropped_count == 2


async def test_a_subscription_without_consumers_drops_everything(open_passing):
    bench = open_passing()
    _, subscription, consumer = await bench.consumer(SHARED)
    await bench.topic.leave(subscription, consumer)
    await bench.publish("a", "b")
    assert subscription.dropped_count == 2
    assert bench.topic.subscriptions == {"s": subscription}


async def test_more_sends_at_once_than_allowed_are_answered_as_dropped(open_passing):
    bench = open_passing(non_persistent_sends_max=2)
    end, _, _ = await bench.consumer(EXCLUSIVE)
    assert await bench.publish("a", "b", "c", "d", "e") == ("unstored", 1, 3, False)
    [producer] = bench.topic.producers.values()
    assert end.got() == ["a", "b"]
    assert (producer.message_count, producer.dropped_count) == (2, 3)


async def test_a_chunk_is_refused_in_its_turn(open_passing, make_entry):
    bench = open_passing()
    end, _, _ = await bench.consumer(EXCLUSIVE)
    chunk = make_entry("x", uuid="u", chunk_id=0, num_chunks_from_msg=2, total_chunk_msg_size=2)
    await bench.publish("a", chunk, "b")
    kinds = [what[0] for what in bench._end.sent]
    assert kinds == ["unstored", "errors", "unstored"]
    assert "takes no chunks" in str(bench._end.sent[1][3])
    assert end.got() == ["a", "b"]


async def test_a_send_in_a_transaction_is_refused(open_passing):
    """It would be delivered at once, and whatever became of the transaction."""
    bench = open_passing()
    end, _, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish("a", transaction=TxnId(0, 1))
    assert [what[0] for what in bench._end.sent] == ["errors"]
    assert end.got() == []


async def test_an_entry_that_nobody_can_read_is_not_passed_on(open_passing):
    bench = open_passing()
    end, subscription, _ = await bench.consumer(SHARED)
    await bench.publish("a", b"\x00\x00\x00\x02\xff\xff", "b")
    assert end.got() == ["a", "b"]
    assert subscription.dropped_count == 0


async def test_a_reader_leaves_nothing_behind(open_passing):
    bench = open_passing()
    _, subscription, consumer = await bench.consumer(EXCLUSIVE, durable=False)
    await bench.topic.leave(subscription, consumer)
    assert bench.topic.subscriptions == {}
    assert bench.topic.idle


async def test_a_refused_reader_leaves_nothing_behind(open_passing):
    bench = open_passing()
    with pytest.raises(ConsumerAssignFailed):
        await bench.consumer(KEY_SHARED, durable=False, hash_ranges=((5, 2),))
    assert bench.topic.subscriptions == {}


async def test_limits_apply_as_to_any_topic(open_passing, client_end):
    bench = open_passing(
        producers_per_topic_max=1, consumers_per_topic_max=2, subscriptions_per_topic_max=1
    )
    await bench.consumer(SHARED)
    with pytest.raises(LimitReached):
        await bench.consumer(SHARED, subscription="t")
    await bench.consumer(SHARED, "d")
    with pytest.raises(ConsumerBusy):
        await bench.consumer(SHARED, "e")
    await bench.topic.attach_producer(client_end(), 1, "p")
    with pytest.raises(ProducerBusy, match="max producers"):
        await bench.topic.attach_producer(client_end(), 1, "q")
    bench.topic.apply(Policies())
    await bench.topic.attach_producer(client_end(), 1, "q")


async def test_an_owner_has_the_next_epoch_as_long_as_the_topic_is_loaded(open_passing, client_end):
    bench = open_passing()
    access = AccessRequest(ProducerAccessMode.EXCLUSIVE)
    first = await bench.topic.attach_producer(client_end(), 1, "p", access=access)
    with pytest.raises(ProducerFenced):
        await bench.topic.attach_producer(client_end(), 1, "q", access=access)
    await first.close()
    second = await bench.topic.attach_producer(client_end(), 1, "q", access=access)
    assert (first.topic_epoch, second.topic_epoch) == (0, 1)


async def test_subscriptions_are_deleted_by_who_may(open_passing):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(SHARED)
    with pytest.raises(ConsumerBusy):
        await bench.topic.delete_subscription("s")
    with pytest.raises(SubscriptionNotFound):
        await bench.topic.delete_subscription("t")
    _, _, other = await bench.consumer(SHARED, "d", end=end, consumer_id=2)
    with pytest.raises(NotAllowed):
        await bench.topic.unsubscribe(subscription, consumer, force=False)
    await bench.topic.delete_subscription("s", force=True)
    assert {what for what in end.sent if what[0] == "close_consumer"} == {
        ("close_consumer", 1),
        ("close_consumer", 2),
    }
    assert bench.topic.subscriptions == {}
    assert other not in subscription.consumers


async def test_a_closed_topic_lets_go_of_everybody(open_passing, client_end):
    bench = open_passing()
    end, _, _ = await bench.consumer(SHARED)
    await bench.publish("a")
    [producer] = bench.topic.producers.values()
    await bench.topic.delete()
    assert ("close_producer", 1) in bench._end.sent
    assert ("close_consumer", 1) in end.sent
    with pytest.raises(TopicClosed):
        await bench.topic.attach_producer(client_end(), 1, "p")
    assert not bench.topic.busy
    assert producer.name not in bench.topic.producers


async def test_nothing_is_kept(open_passing):
    bench = open_passing()
    _, subscription, _ = await bench.consumer(SHARED)
    await bench.publish("a")
    assert bench.topic.stored is None
    assert await bench.topic.oldest_publish_time_ms(subscription) == -1
    assert await bench.topic.prepare_for_rest()
    await bench.topic.maintain()
    assert (subscription.backlog, subscription.durable) == (0, True)
