"""A topic's counters, as others see them."""

import asyncio
from collections import defaultdict
from dataclasses import MISSING, fields

from support.clock import ManualClock
from support.loop import until
from support.offloading import MemoryOffloader

from magnetar.broker.dispatch.blocked import STILL_S
from magnetar.broker.topics.publishing.producer_access import AccessRequest
from magnetar.broker.topics.subscriptions.persistent_subscription import REPLICATED
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.model.offload_policies import OffloadPolicies
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    DispatchRate,
    PublishRate,
)
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.stats import TopicStats
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings


async def test_totals_add_up_and_outlive_consumers(bench):
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c", permits=10)
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    subscription.acknowledge(consumer, [end.positions()[0]])
    stats = topic_stats(bench.topic)
    assert stats.msg_in_counter == 3
    assert stats.bytes_in_counter == stats.storage_bytes > 0
    assert [p.producer_name for p in stats.publishers] == ["bench"]
    mine = stats.subscriptions["s"]
    assert (mine.type, mine.backlog_entries, mine.unacked_messages) == (
        SubscriptionType.SHARED,
        2,
        2,
    )
    assert mine.consumers[0].available_permits == 7
    await bench.topic.leave(subscription, consumer)
    after = topic_stats(bench.topic)
    assert after.subscriptions["s"].consumers == []
    assert after.msg_out_counter == 3


async def test_the_active_consumer_and_key_ranges_are_named(bench):
    await bench.consumer(SubscriptionType.EXCLUSIVE, "only", subscription="x")
    await bench.consumer(
        SubscriptionType.KEY_SHARED, "k", subscription="ks", hash_ranges=((0, 9), (20, 29))
    )
    found = topic_stats(bench.topic).subscriptions
    assert found["x"].active_consumer_name == "only"
    assert found["ks"].key_shared_mode == "STICKY"
    assert found["ks"].consumers[0].key_hash_ranges == [(0, 9), (20, 29)]


def chunk(make_entry, index):
    return make_entry("c", uuid="u", chunk_id=index, num_chunks_from_msg=2, total_chunk_msg_size=2)


async def busy_topic(bench, make_entry, client_end):
    """A topic to which nearly everything has happened that is counted."""
    topic = bench.topic
    await topic.attach_producer(client_end(), 2, "p", metadata={"k": "v"})
    gone, chunker = client_end(), await topic.attach_producer(client_end(), 3, "chunker")
    await bench.publish("a", "b", make_entry("batch", batch=3), counts=[1, 1, 3])
    await bench.publish(chunk(make_entry, 0), chunk(make_entry, 1), counts=[1, 1])
    chunker.detach()
    await bench.consumer(SubscriptionType.EXCLUSIVE, end=gone, subscription="gone")
    await gone.until(lambda e: len(e.got()) == 5)
    await topic.delete_subscription("gone", force=True)

    for durable in (True, False):
        name = f"x-{durable}"
        end, subscription, consumer = await bench.consumer(
            SubscriptionType.EXCLUSIVE,
            name,
            subscription=name,
            durable=durable,
            metadata={"k": "v"},
            properties={"p": "v", REPLICATED: "1"},
        )
        await end.until(lambda e: len(e.got()) == 5)
        places = end.positions()
        subscription.acknowledge(consumer, [places[0], places[2]])

    await bench.consumer(SubscriptionType.SHARED, subscription="delayed")
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, subscription="s")
    await end.until(lambda e: len(e.got()) == 5)
    subscription.redeliver(consumer, [places[1]])
    await end.until(lambda e: len(e.got()) == 6)

    await bench.publish(*(make_entry(f"k{n}", key=f"k{n}") for n in range(16)))
    for relaxed in (False, True):
        asked = {"subscription": f"ks-{relaxed}", "allow_out_of_order": relaxed}
        end, subscription, consumer = await bench.consumer(
            SubscriptionType.KEY_SHARED, "k1", **asked
        )
        await end.until(lambda e: len(e.got()) == 21)
        await bench.consumer(SubscriptionType.KEY_SHARED, "k2", consumer_id=2, **asked)
        held = end.positions()
        for place in held[5:13]:
            subscription.acknowledge(consumer, [place])
    await bench.publish(make_entry("late", deliver_at_time=4_000_000_000_000))


async def blocked_topic(bench):
    """A topic whose consumer holds as much as it may, and something waits for it."""
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, subscription="s")
    await bench.publish("a", "b", "c", "d", "e", "f")
    await end.until(lambda e: len(e.got()) == 4)
    subscription.redeliver(consumer, [end.positions()[0]])


async def expiring_topic(bench):
    """A topic with quotas, and a message that was too old."""
    await bench.consumer(SubscriptionType.SHARED, permits=0)
    await bench.publish("a")
    await bench.topic.upkeep.expire_old()


async def evicting_topics(open_bench):
    """A topic that was too large, and one that was too old, for which messages had to go."""
    for quota in ("backlog_quota_size", "backlog_quota_age"):
        bench = await open_bench(**{quota: BacklogQuota(9, 9, BacklogQuotaPolicy.EVICTION)})
        await bench.consumer(SubscriptionType.SHARED, permits=0)
        await bench.publish("a")
        await bench.topic.upkeep.check_backlog()
        yield bench


async def offloaded_topic(open_bench):
    """A topic of which a ledger was offloaded, and another one could not be."""
    bench = await open_bench(
        offloader=MemoryOffloader(),
        offload=OffloadPolicies(driver="filesystem", file_uri="/srv"),
        ledger_settings=ManagedLedgerSettings(entries_per_ledger_max=1, ledger_age_min_s=0),
    )
    await bench.publish("a")
    await bench.publish("b")
    bench.topic.offloading().start(LATEST)
    await until(lambda: not bench.topic.offload.running)
    bench.topic.offload.failed_ms = 1
    return bench


async def passing_topic(bench):
    """A topic that drops what is too much at once, and what nobody can take."""
    await bench.consumer(SubscriptionType.SHARED, permits=0)
    await bench.publish("a", "b", "c")


async def test_every_field_is_filled_by_what_happens(
    open_bench, open_passing, make_entry, client_end
):
    """A field that nobody fills would be a zero that means nothing."""
    passing = open_passing(non_persistent_sends_max=2)
    await passing_topic(passing)
    free = await open_bench()
    await busy_topic(free, make_entry, client_end)
    limited = await open_bench(unacked_per_consumer_max=4, unacked_per_subscription_max=4)
    await blocked_topic(limited)
    quota = BacklogQuota(9, 9, BacklogQuotaPolicy.HOLD)
    expiring = await open_bench(message_ttl_s=1, backlog_quota_size=quota, backlog_quota_age=quota)
    await expiring_topic(expiring)
    held = await open_bench(backlog_quota_size=BacklogQuota(1, -1, BacklogQuotaPolicy.HOLD))
    await held.topic.create_subscription("s", EARLIEST)
    await held.publish("more than a byte")
    await held.topic.upkeep.check_backlog()
    claims = []
    access = AccessRequest(ProducerAccessMode.WAIT_FOR_EXCLUSIVE, waits=claims.append)
    waiting = asyncio.ensure_future(
        free.topic.attach_producer(client_end(), 4, "waits", access=access)
    )
    await until(lambda: claims)
    slow = await open_bench(publish_rate=PublishRate(2), subscription_dispatch_rate=DispatchRate(1))
    await slow.consumer(SubscriptionType.SHARED)
    await slow.publish("a", "b", "c")
    compacted = await open_bench()
    await compacted.publish(make_entry("1", key="k"), make_entry("2", key="k"))
    compacted.topic.compact()
    await until(lambda: not compacted.topic.compaction.running)
    compaction = compacted.topic.compaction
    compaction.failed_count = compaction.failed_ms = compaction.duration_ms = 1
    offloaded = await offloaded_topic(open_bench)
    clock = ManualClock()
    blocked = await open_bench(clock=clock)
    await blocked.consumer(SubscriptionType.SHARED, permits=0)
    await blocked.publish("a")
    clock.move(STILL_S)
    transactional = await open_bench()
    for number in range(3):
        await transactional.publish("a", transaction=TxnId(0, number))
    for number in range(2):
        await transactional.topic.end_transaction(TxnId(0, number), commit=bool(number))
    filled, every = defaultdict(set), {}

    def look(part):
        every[type(part)] = {each.name for each in fields(part)}
        for each in fields(part):
            made = each.default_factory
            default = made() if made is not MISSING else each.default
            if getattr(part, each.name) != default:
                filled[type(part)].add(each.name)

    for bench in (
        free,
        limited,
        passing,
        expiring,
        held,
        slow,
        compacted,
        offloaded,
        blocked,
        transactional,
        *[each async for each in evicting_topics(open_bench)],
        await open_bench(deduplication=True),
    ):
        stats = topic_stats(bench.topic)
        look(stats)
        for publisher in stats.publishers:
            look(publisher)
        for subscription in stats.subscriptions.values():
            look(subscription)
            for consumer in subscription.consumers:
                look(consumer)
    waiting.cancel()
    filled[TopicStats].add("replication")  # tests/replication
    assert dict(filled) == every


async def test_chunks_are_counted_as_entries_and_outlive_who_sent_and_got_them(bench, make_entry):
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c")
    await bench.publish(
        chunk(make_entry, 0), make_entry("b", batch=3), chunk(make_entry, 1), counts=[1, 3, 1]
    )
    await end.until(lambda e: len(e.got()) == 3)
    stats = topic_stats(bench.topic)
    its = stats.subscriptions["s"].consumers[0]
    assert (stats.chunk_in_counter, stats.publishers[0].chunk_in_counter) == (2, 2)
    assert (stats.msg_in_counter, stats.publishers[0].msg_in_counter) == (5, 5)
    assert (its.msg_out_counter, its.entries_out_counter, its.chunk_out_counter) == (5, 3, 2)
    bench.topic.producers["bench"].detach()
    await bench.topic.leave(subscription, consumer)
    after = topic_stats(bench.topic)
    assert (after.chunk_in_counter, after.subscriptions["s"].chunk_out_counter) == (2, 2)


async def test_only_what_is_delivered_again_is_counted_as_such(bench):
    end, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c")
    await bench.publish("a", "b", "c")
    await end.until(lambda e: len(e.got()) == 3)
    subscription.redeliver(consumer, [end.positions()[1]])
    await end.until(lambda e: len(e.got()) == 4)
    assert topic_stats(bench.topic).subscriptions["s"].redelivered_counter == 1


async def test_the_mark_s_time_is_that_of_its_last_move_forward(bench):
    _, subscription, _ = await bench.consumer(SubscriptionType.SHARED, "c")
    await bench.publish("a", "b")

    def moved():
        return topic_stats(bench.topic).subscriptions["s"].last_mark_moved_ms

    assert moved() == 0
    await bench.topic.skip(subscription, 1)  # Not only by a consumer's acknowledgements.
    first = moved()
    assert first > 0
    await bench.topic.seek(subscription, Position(0, 0))
    assert moved() == first


async def test_the_reason_is_told_of_a_backlog_that_does_not_move(bench):
    _, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c", permits=1)

    def reason():
        return topic_stats(bench.topic).subscriptions["s"].blocked_reason

    assert reason() is None  # There is no backlog.
    await bench.publish("a", "b")
    assert reason() == "consumer c has given no permits"
    await bench.topic.leave(subscription, consumer)
    assert reason() == "no consumer is connected"


async def test_a_backlog_is_blocked_when_it_has_not_moved_for_a_while_although_it_could(open_bench):
    clock = ManualClock()
    bench = await open_bench(clock=clock)
    _, subscription, consumer = await bench.consumer(SubscriptionType.SHARED, "c", permits=1)

    def since():
        return topic_stats(bench.topic).subscriptions["s"].blocked_since_ms

    await clock.advance(STILL_S)
    await bench.publish("a", "b")
    assert since() == 0  # One was delivered just now.
    moved_ms = clock.wall_ms()
    await clock.advance(STILL_S)
    assert since() == moved_ms
    subscription.flow(consumer, 1)
    await clock.advance(0)
    assert since() == 0
    await clock.advance(STILL_S)
    assert since() == moved_ms + STILL_S * 1000
    await bench.topic.leave(subscription, consumer)
    assert since() == moved_ms + STILL_S * 1000
    await bench.consumer(SubscriptionType.SHARED, "d", permits=0)
    assert since() == 0  # It has just come.
