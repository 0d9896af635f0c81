"""What goes out with an entry."""

from magnetar.broker.topics.subscriptions.entry_delivery import ack_sets_of
from magnetar.model.position import Position
from magnetar.model.subscriptions import SubscriptionType


async def test_ack_sets_run_parallel_to_the_run(open_bench, make_entry):
    bench = await open_bench(batch_index_acks=True)
    _, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    _, _, _, ledger_id, _ = await bench.publish("a", make_entry("b", batch=2), counts=[1, 2])
    cursor = subscription.cursor
    cursor.reader.rewind()
    run = cursor.reader.cached(10, 1000)[0]
    assert ack_sets_of(cursor, run) is None
    subscription.acknowledge(consumer, [], [(Position(ledger_id, 1), [0b10])])
    assert ack_sets_of(cursor, run) == [[], [0b10]]
    assert ack_sets_of(cursor, run, [1]) == [[0b10]]
