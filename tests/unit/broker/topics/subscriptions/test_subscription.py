"""Who may join a subscription, leave it and delete it."""

import asyncio

import pytest

from magnetar.errors import ConsumerAssignFailed, ConsumerBusy, Fenced, NotAllowed
from magnetar.model.subscriptions import SubscriptionType

EXCLUSIVE = SubscriptionType.EXCLUSIVE
SHARED = SubscriptionType.SHARED
FAILOVER = SubscriptionType.FAILOVER
KEY_SHARED = SubscriptionType.KEY_SHARED


@pytest.fixture
def dying(client_end):
    """A client's end that is asked for a sign of life and takes its time to give none."""
    end = client_end()
    end.lives = False
    end.answers.clear()
    return end


async def test_a_second_exclusive_consumer_is_refused_while_the_first_lives(bench):
    await bench.consumer(EXCLUSIVE)
    with pytest.raises(ConsumerBusy, match="Exclusive consumer is already connected"):
        await bench.consumer(EXCLUSIVE, "d")


async def test_a_dead_exclusive_consumer_makes_way(bench):
    end, subscription, _ = await bench.consumer(EXCLUSIVE)
    end.lives = False
    _, _, second = await bench.consumer(EXCLUSIVE, "d")
    assert subscription.consumers == [second]


async def test_of_two_who_wait_for_a_dead_exclusive_consumer_one_gets_its_place(bench, dying):
    await bench.consumer(EXCLUSIVE, end=dying)
    first = asyncio.ensure_future(bench.consumer(EXCLUSIVE, "d"))
    second = asyncio.ensure_future(bench.consumer(EXCLUSIVE, "e"))
    await dying.asked.wait()
    await asyncio.sleep(0)
    dying.answers.set()
    _, subscription, winner = await first
    with pytest.raises(ConsumerBusy):
        await second
    assert subscription.consumers == [winner]


async def test_nobody_joins_a_subscription_that_is_deleted_meanwhile(bench, dying):
    await bench.consumer(EXCLUSIVE, end=dying)
    joining = asyncio.ensure_future(bench.consumer(EXCLUSIVE, "d"))
    await dying.asked.wait()
    await bench.topic.delete_subscription("s", force=True)
    dying.answers.set()
    with pytest.raises(Fenced):
        await joining


async def test_nobody_joins_a_readers_subscription_that_goes_with_it(bench, dying):
    _, subscription, reader = await bench.consumer(EXCLUSIVE, end=dying, durable=False)
    joining = asyncio.ensure_future(bench.consumer(EXCLUSIVE, "d", durable=False))
    await dying.asked.wait()
    dying.answers.set()
    await bench.topic.leave(subscription, reader)
    with pytest.raises(Fenced):
        await joining
    end, _, _ = await bench.consumer(EXCLUSIVE, "d", durable=False)
    await bench.publish("a")
    await end.until(lambda e: e.got() == ["a"])


async def test_another_type_is_refused_while_somebody_is_connected(bench):
    _, subscription, consumer = await bench.consumer(SHARED)
    with pytest.raises(ConsumerBusy, match=r"type of 'Shared' is different.*'Failover'"):
        await bench.consumer(FAILOVER)
    await bench.topic.leave(subscription, consumer)
    await bench.consumer(FAILOVER)
    assert subscription.type is FAILOVER


async def test_key_shared_modes_must_agree(bench):
    await bench.consumer(KEY_SHARED, hash_ranges=((0, 100),))
    with pytest.raises(ConsumerBusy, match=r"mode of 'STICKY'.*'AUTO_SPLIT'"):
        await bench.consumer(KEY_SHARED)
    with pytest.raises(ConsumerBusy, match="does not allow out of order"):
        await bench.consumer(KEY_SHARED, hash_ranges=((200, 300),), allow_out_of_order=True)


async def test_sticky_ranges_in_use_are_refused_while_their_holder_lives(bench):
    end, subscription, _ = await bench.consumer(KEY_SHARED, hash_ranges=((0, 100),))
    with pytest.raises(ConsumerAssignFailed, match="Range conflict with consumer Consumer"):
        await bench.consumer(KEY_SHARED, "d", hash_ranges=((100, 150),))
    assert len(subscription.consumers) == 1
    end.lives = False
    await bench.consumer(KEY_SHARED, "d", hash_ranges=((100, 150),))
    assert [c.name for c in subscription.consumers] == ["d"]


@pytest.mark.parametrize("ranges", [(), ((5, 1),), ((0, 10), (5, 20))])
async def test_sticky_ranges_that_nobody_could_have_are_refused(bench, ranges):
    with pytest.raises(ConsumerAssignFailed):
        await bench.consumer(KEY_SHARED, hash_ranges=ranges)
    assert bench.topic.subscriptions["s"].consumers == []


async def test_the_only_consumer_may_unsubscribe(bench):
    _, subscription, consumer = await bench.consumer(SHARED)
    await bench.topic.unsubscribe(subscription, consumer, force=False)
    assert "s" not in bench.topic.subscriptions
    assert "s" not in bench.topic.ledger.cursors


async def test_with_others_connected_only_force_unsubscribes(bench):
    _, subscription, consumer = await bench.consumer(SHARED)
    other, _, _ = await bench.consumer(SHARED, "d")
    with pytest.raises(NotAllowed, match="Unconnected or shared consumer"):
        await bench.topic.unsubscribe(subscription, consumer, force=False)
    await bench.topic.unsubscribe(subscription, consumer, force=True)
    assert ("close_consumer", 1) in other.sent
    assert "s" not in bench.topic.subscriptions
