"""Acknowledgements and redelivery mean nothing where nothing is kept."""

from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType


async def test_acknowledgements_change_nothing(open_passing):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", "b")
    subscription.acknowledge(consumer, [Position(0, 0)])
    subscription.acknowledge_entries(consumer, 0, [0])
    subscription.acknowledge_cumulative(consumer, Position(0, 0))
    await bench.publish("c")
    assert end.got() == ["a", "b", "c"]
    assert (subscription.mark, consumer.totals.acked_count) == (EARLIEST, 0)


async def test_nothing_is_delivered_again(open_passing):
    bench = open_passing()
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED)
    await bench.publish("a")
    subscription.redeliver(consumer, None, 3)
    assert end.got() == ["a"]
    assert consumer.epoch == 3


async def test_it_has_the_properties_its_first_consumer_gave_it(open_passing):
    bench = open_passing()
    _, subscription, _ = await bench.consumer(SubscriptionType.SHARED, properties={"team": "red"})
    await bench.consumer(SubscriptionType.SHARED, "d", properties={"team": "blue"})
    assert subscription.properties == {"team": "red"}
