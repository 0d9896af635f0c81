"""Reading what a topic has stored, giving some of it again, and taking it out of a backlog."""

import pytest

from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType


@pytest.fixture
async def bench(open_bench, make_entry):
    bench = await open_bench()
    for number in range(6):
        await bench.publish(make_entry(str(number), publish_time=1000 + number))
    return bench


async def test_it_is_read_by_position_and_no_subscription_notices(bench):
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    log = bench.topic.log
    run = await log.read(EARLIEST, 4, 10**6)
    assert (run.first, len(run)) == (log.first, 4)
    assert await log.read(log.end, 4, 10**6) is None
    assert (subscription.backlog, set(bench.topic.subscriptions)) == (6, {"s"})


async def test_places_in_it_are_counted(bench):
    log = bench.topic.log
    ledger_id, _ = log.first
    assert log.back(log.end, 2) == Position(ledger_id, 4)
    assert log.back(log.end, 99) == log.back(log.first, 1) == log.first
    assert log.entries_between(log.first, log.end) == 6
    assert await log.position_at(1003) == Position(ledger_id, 3)
    assert await log.position_at(9999) == log.end == log.next_position(Position(ledger_id, 5))


async def test_a_subscription_gets_some_of_it_again(bench):
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    await bench.topic.skip(subscription)
    ledger_id, _ = bench.topic.log.first
    again = [Position(ledger_id, 1), Position(ledger_id, 4)]
    await bench.topic.log.replay(subscription, again)
    assert subscription.backlog == 2
    end, _, _ = await bench.consumer(SubscriptionType.SHARED)
    await end.until(lambda e: e.got() == ["1", "4"])
    assert bench.topic.log.left(subscription, again[0])
    assert not bench.topic.log.left(subscription, Position(ledger_id, 2))


async def test_what_is_taken_out_of_a_backlog_is_not_delivered(bench):
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    ledger_id, _ = bench.topic.log.first
    bench.topic.log.take(subscription, [Position(ledger_id, 0), Position(ledger_id, 3)])
    end, _, _ = await bench.consumer(SubscriptionType.SHARED)
    await end.until(lambda e: e.got() == ["1", "2", "4", "5"])
