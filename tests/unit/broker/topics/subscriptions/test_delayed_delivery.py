"""Delayed entries in buckets: stored, loaded when they are due, and known again after a restart.

``tests/scenarios/delays.txt`` tells what consumers see of delays.
"""

import pytest
from support.clock import ManualClock
from support.loop import until
from unit.broker.topics.conftest import ClientEnd, entry

from magnetar.broker.dispatch import delayed as delayed_entries
from magnetar.broker.dispatch import delayed_bucket
from magnetar.broker.dispatch.blocked import Blocked, Why
from magnetar.broker.topics.subscriptions import delayed_delivery
from magnetar.broker.topics.subscriptions.delayed_delivery import RETRY_S, SLEEP_MS_MAX
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import WriteFailed
from magnetar.model.position import EARLIEST
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.cursor_ledgers import CursorLedgers
from magnetar.storage.metadata.memory import MemoryMetadataStore

SHARED = SubscriptionType.SHARED
RECENT = 10


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    monkeypatch.setattr(delayed_entries, "RECENT_MAX", RECENT)
    monkeypatch.setattr(delayed_bucket, "SEGMENT_ENTRIES", 4)


class World:
    """A topic that can be opened again on the same stores, and a clock."""

    def __init__(self, open_bench):
        self._open = open_bench
        self.clock = ManualClock()
        self.stores = {"metadata": MemoryMetadataStore(), "ledgers": MemoryLedgerStore()}
        self.bench = None

    async def open(self):
        if self.bench is not None:
            await self.bench.topic.close()
        self.bench = await self._open(clock=self.clock, **self.stores)

    async def publish(self, texts, *, in_s=60.0):
        """One at a time, each a second later than the one before."""
        now = self.clock.wall_ms()
        for number, text in enumerate(texts):
            due = now + round((in_s + number) * 1000)
            await self.bench.publish(entry(text, deliver_at_time=due))

    async def ledgers(self, cursor, count):
        """Wait until the cursor has so many ledgers, and the store has them."""
        await until(lambda: len(cursor.ledger_ids) == count)
        return [self.stores["ledgers"]._ledgers[each] for each in cursor.ledger_ids]


@pytest.fixture
async def world(open_bench):
    made = World(open_bench)
    await made.open()
    return made


def texts(count, prefix="m"):
    return [f"{prefix}{number}" for number in range(count)]


async def test_buckets_are_stored_and_gone_when_they_are_used_up(world):
    end, subscription, _ = await world.bench.consumer(SHARED)
    await world.publish(texts(35))
    await world.ledgers(subscription.cursor, 3)
    delayed = subscription.delayed
    assert (delayed.count, delayed.size_bytes > 0, end.got()) == (35, True, [])
    await world.clock.advance(70.0)
    assert end.got() == texts(12)
    await world.ledgers(subscription.cursor, 2)
    await world.clock.advance(30.0)
    assert end.got() == texts(35)
    await world.ledgers(subscription.cursor, 0)
    assert delayed.count == 0


async def test_after_a_restart_what_is_in_buckets_is_not_read_from_the_log(world):
    _, subscription, consumer = await world.bench.consumer(SHARED)
    await world.publish(texts(35))
    await world.bench.publish("now")
    await world.ledgers(subscription.cursor, 3)
    subscription.acknowledge(consumer, [subscription.cursor.mark._replace(entry_id=3)])
    await world.open()
    end, subscription, _ = await world.bench.consumer(SHARED)
    await end.until(lambda e: e.got() == ["now"])
    delayed = subscription.delayed
    assert (delayed.count, len(delayed.entries.recent)) == (34, 5)
    await world.clock.advance(120.0)
    assert end.got() == ["now", *[text for text in texts(35) if text != "m3"]]
    await world.ledgers(subscription.cursor, 0)


async def test_consumers_that_come_later_find_what_was_held_back(world):
    _, subscription, consumer = await world.bench.consumer(SHARED)
    await world.publish(texts(25))
    await world.ledgers(subscription.cursor, 2)
    await world.bench.topic.leave(subscription, consumer)
    await world.clock.advance(65.0)
    end, _, _ = await world.bench.consumer(SHARED)
    await end.until(lambda e: e.got() == texts(7))
    await world.clock.advance(60.0)
    assert end.got() == texts(25)


async def test_a_bucket_that_was_not_finished_is_dropped_and_read_from_the_log(world):
    end, subscription, _ = await world.bench.consumer(SHARED)
    await world.publish(texts(5))
    writer = await CursorLedgers(subscription.cursor).create()
    await world.open()
    end, subscription, _ = await world.bench.consumer(SHARED)
    await world.ledgers(subscription.cursor, 0)
    assert writer.ledger_id not in world.stores["ledgers"]._ledgers
    await world.clock.advance(70.0)
    assert end.got() == texts(5)


@pytest.mark.parametrize("footer_too", [False, True])
async def test_a_damaged_bucket_loses_nothing(world, footer_too, caplog):
    end, subscription, _ = await world.bench.consumer(SHARED)
    await world.publish(texts(25))
    first, _ = await world.ledgers(subscription.cursor, 2)
    first.data[0] = bytes(25)
    if footer_too:
        first.data[-1] = b""
    await world.clock.advance(100.0)
    assert "bucket_lost" in caplog.text
    if footer_too:
        assert end.got() == texts(25)[10:]
        await world.open()
        end, subscription, _ = await world.bench.consumer(SHARED)
        await end.until(lambda e: len(e.got()) == 25)
    else:
        assert end.got() == texts(25)


async def test_what_cannot_be_stored_is_tried_again_and_delivered_in_time(world, monkeypatch):
    end, subscription, _ = await world.bench.consumer(SHARED)
    store = world.stores["ledgers"]
    create = store.create

    async def refuses(_):
        raise WriteFailed("no space")

    monkeypatch.setattr(store, "create", refuses)
    await world.publish(texts(RECENT))
    await world.bench.publish("behind")
    await world.clock.until_asleep(2)
    assert subscription.blocked_reason() == Blocked(Why.READ_FAILED)
    monkeypatch.setattr(store, "create", create)
    await world.clock.advance(RETRY_S)
    await end.until(lambda e: e.got() == ["behind"])
    await world.ledgers(subscription.cursor, 1)
    await world.clock.advance(60.0)
    assert end.got() == ["behind", *texts(RECENT)]


async def test_what_is_skipped_is_forgotten_with_its_buckets(world):
    end, subscription, _ = await world.bench.consumer(SHARED)
    await world.publish(texts(25))
    await world.ledgers(subscription.cursor, 2)
    await world.bench.topic.skip(subscription)
    assert subscription.delayed.count == 0
    await world.clock.advance(70.0)
    await world.ledgers(subscription.cursor, 0)
    assert end.got() == []


async def test_buckets_go_with_their_subscription(world):
    _, subscription, _ = await world.bench.consumer(SHARED)
    await world.publish(texts(25))
    ledgers = await world.ledgers(subscription.cursor, 2)
    await world.bench.topic.delete_subscription("s", force=True)
    assert not {each.ledger_id for each in ledgers} & set(world.stores["ledgers"]._ledgers)


async def test_a_subscription_that_is_not_durable_keeps_all_in_memory(world):
    end, subscription, _ = await world.bench.consumer(SHARED, durable=False, start=EARLIEST)
    await world.publish(texts(25))
    assert subscription.cursor.ledger_ids == ()
    await world.clock.advance(100.0)
    assert end.got() == texts(25)


async def test_a_timer_rings_for_the_next_entry_and_not_for_each(world):
    _, subscription, consumer = await world.bench.consumer(SHARED, end=ClientEnd())
    await world.publish(texts(9), in_s=20.0)
    await world.publish(["sooner"], in_s=10.0)
    assert world.clock.sleepers == 1
    await world.bench.topic.leave(subscription, consumer)
    await until(lambda: world.clock.sleepers == 0)


async def test_a_subscription_that_is_not_durable_holds_so_many(world, monkeypatch):
    monkeypatch.setattr(delayed_delivery, "NOT_STORED_MAX", 3)
    end, _, _ = await world.bench.consumer(SHARED, durable=False, start=EARLIEST)
    await world.publish(texts(4))
    await world.bench.publish("behind")
    assert end.got() == []
    await world.clock.advance(60.0)
    assert end.got() == ["m0", "m1", "behind"]
    await world.clock.advance(10.0)
    assert end.got() == ["m0", "m1", "behind", "m2", "m3"]


async def test_a_clock_that_is_set_is_noticed(world):
    end, _, _ = await world.bench.consumer(SHARED)
    await world.publish(["late"], in_s=3600.0)
    world.clock.move(3600.0)
    await world.clock.advance(SLEEP_MS_MAX / 1000)
    assert end.got() == ["late"]


async def test_what_is_acknowledged_before_its_time_is_no_longer_counted_nor_delivered(world):
    end, subscription, consumer = await world.bench.consumer(SHARED)
    await world.publish(texts(3))
    place = subscription.cursor.mark
    subscription.acknowledge(consumer, [place._replace(entry_id=1)])
    told = topic_stats(world.bench.topic).subscriptions["s"]
    assert (told.backlog_entries, told.delayed_entries) == (2, 2)
    await world.clock.advance(70.0)
    assert end.got() == ["m0", "m2"]


async def test_what_was_due_before_the_date_was_set_back_waits_again(world, monkeypatch):
    """It was due and held back in turns, without a pause."""
    end, subscription, consumer = await world.bench.consumer(SHARED, permits=1)
    await world.publish(texts(5))
    await world.clock.advance(70.0)
    assert end.got() == ["m0"]
    right = world.clock.wall_ms
    monkeypatch.setattr(world.clock, "wall_ms", lambda: right() - 3_600_000)
    passes = []

    def hold(*arguments, of=subscription.delayed.hold, **how):
        passes.append(arguments)
        assert len(passes) < 10, "it goes round in circles"
        return of(*arguments, **how)

    monkeypatch.setattr(subscription.delayed, "hold", hold)
    subscription.flow(consumer, 100)
    await world.clock.advance(1.0)
    assert end.got() == ["m0"]
    monkeypatch.setattr(world.clock, "wall_ms", right)
    await world.clock.advance(SLEEP_MS_MAX / 1000 + 1)
    assert end.got() == texts(5)


async def test_a_chunk_does_not_overtake_those_that_wait_for_the_timer(world):
    """Consumers threw away a chunk that came before the first: the message was lost."""
    end, _, _ = await world.bench.consumer(SHARED)
    chunks = {"uuid": "one", "num_chunks_from_msg": 3, "total_chunk_msg_size": 6}
    due = world.clock.wall_ms() + 1_500
    for number in range(3):
        made = entry(f"c{number}", deliver_at_time=due, chunk_id=number, **chunks)
        await world.bench.publish(made)
        await world.clock.advance(0.4)
    assert end.got() == []
    await world.bench.publish(entry("alone", deliver_at_time=due))
    assert end.got() == ["alone"]
    await world.clock.advance(1.0)
    assert end.got() == ["alone", "c0", "c1", "c2"]
