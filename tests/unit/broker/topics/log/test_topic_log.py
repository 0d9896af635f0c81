"""Reading what a topic has stored, giving some of it again, and taking it out of a backlog."""

import pytest
from support.loop import until

from magnetar.model.position import EARLIEST, Position
from magnetar.model.process_status import ProcessStatus
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
    assert bench.topic.log.pending(subscription, again[0])
    assert not bench.topic.log.pending(subscription, Position(ledger_id, 2))


async def test_what_is_taken_out_of_a_backlog_is_not_delivered(bench):
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    ledger_id, _ = bench.topic.log.first
    bench.topic.log.acknowledge(subscription, [Position(ledger_id, 0), Position(ledger_id, 3)])
    end, _, _ = await bench.consumer(SubscriptionType.SHARED)
    await end.until(lambda e: e.got() == ["1", "2", "4", "5"])


async def test_nobody_who_reads_a_topic_sees_what_its_log_hides(bench):
    """Cursors are tested with ``CursorReader`` and with dispatch."""
    log, ledger = bench.topic.log, bench.topic.ledger
    subscription = await bench.topic.create_subscription("s", EARLIEST)
    hidden_from = Position(log.first.ledger_id, 3)
    ledger.show_to(Position(hidden_from.ledger_id, 2))
    assert (log.end, ledger.last_position.entry_id) == (hidden_from, 5)
    assert len(await log.read(EARLIEST, 10, 10**6)) == 3
    assert await log.read(hidden_from, 10, 10**6) is None
    assert (await log.last_message_id())[0] == ledger.last_visible
    counted = await bench.topic.count_backlog(subscription)
    assert (counted.entries, counted.last) == (6, ledger.last_position)  # As in the backlog.
    bench.topic.compact()
    await until(lambda: bench.topic.compaction.status is ProcessStatus.SUCCESS)
    assert ledger.compacted.horizon == ledger.last_visible
    ledger.show_to(Position(0, -1))
    assert await log.last_message_id() == (EARLIEST, -1)
    ledger.show_to(None)
    assert len(await log.read(EARLIEST, 10, 10**6)) == 6


async def test_a_ledger_of_which_something_is_hidden_is_not_offloaded(bench):
    ledger = bench.topic.ledger
    await ledger._writer.end_ledger()
    (sealed,) = ledger.layout.sealed
    assert list(ledger.sealed_visible) == [sealed]
    ledger.show_to(Position(sealed.ledger_id, sealed.last_entry_id - 1))
    assert list(ledger.sealed_visible) == []
    ledger.show_to(Position(sealed.ledger_id, sealed.last_entry_id))
    assert list(ledger.sealed_visible) == [sealed]
