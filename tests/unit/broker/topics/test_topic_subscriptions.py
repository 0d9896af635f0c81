"""Subscriptions are made and dropped."""

import asyncio

import pytest
from support.clock import ManualClock

from magnetar.broker.topics.topic_subscriptions import ABANDONED_AFTER_S
from magnetar.errors import (
    ConsumerBusy,
    Fenced,
    NotAllowed,
    ProducerBusy,
    SubscriptionNotFound,
    WriteFailed,
)
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.metadata.memory import MemoryMetadataStore

EXCLUSIVE = SubscriptionType.EXCLUSIVE


async def test_a_subscription_starts_where_it_was_asked_to(bench):
    await bench.publish("a")
    latest, _, _ = await bench.consumer(
        EXCLUSIVE, subscription="l", initial_position=InitialPosition.LATEST
    )
    earliest, _, _ = await bench.consumer(EXCLUSIVE, subscription="e")
    await bench.publish("b")
    await latest.until(lambda e: e.got() == ["b"])
    await earliest.until(lambda e: e.got() == ["a", "b"])


async def test_a_reader_starts_at_its_entry_and_leaves_nothing_behind(bench):
    _, _, _, ledger_id, _ = await bench.publish("a", "b", "c")
    end, subscription, consumer = await bench.consumer(
        EXCLUSIVE, subscription="r", durable=False, start=Position(ledger_id, 1)
    )
    await end.until(lambda e: e.got() == ["b", "c"])
    await bench.topic.leave(subscription, consumer)
    assert "r" not in bench.topic.subscriptions
    assert "r" not in bench.topic.ledger.cursors


async def test_durable_and_non_durable_subscriptions_of_one_name_clash(bench):
    await bench.consumer(EXCLUSIVE)
    with pytest.raises(NotAllowed, match="Durable subscription with the same name already exists"):
        await bench.consumer(EXCLUSIVE, durable=False)
    await bench.consumer(EXCLUSIVE, subscription="r", durable=False)
    with pytest.raises(NotAllowed, match="NonDurable subscription with the same name"):
        await bench.consumer(EXCLUSIVE, subscription="r")


@pytest.mark.parametrize("name", ["", "pulsar.repl.x", "pulsar.dedup"])
async def test_a_subscription_name_must_be_free_for_use(bench, name):
    with pytest.raises(ProducerBusy):
        await bench.consumer(EXCLUSIVE, subscription=name)


async def test_subscriptions_are_created_and_deleted_by_name(bench):
    await bench.publish("a")
    subscription = await bench.topic.create_subscription("x", EARLIEST)
    assert subscription.cursor.backlog == 1
    with pytest.raises(ConsumerBusy):
        await bench.topic.create_subscription("x", LATEST)
    await bench.consumer(EXCLUSIVE, subscription="x")
    with pytest.raises(ConsumerBusy, match="active connected consumers"):
        await bench.topic.delete_subscription("x")
    await bench.topic.delete_subscription("x", force=True)
    with pytest.raises(SubscriptionNotFound):
        await bench.topic.delete_subscription("x")


async def test_a_subscription_that_could_not_be_deleted_can_be_deleted_again(open_bench):
    class Failing(MemoryMetadataStore):
        fails = True

        async def delete(self, path, **options):
            if self.fails:
                raise WriteFailed(path)
            await super().delete(path, **options)

    metadata = Failing()
    bench = await open_bench(metadata=metadata)
    _, subscription, consumer = await bench.consumer(EXCLUSIVE)
    with pytest.raises(WriteFailed):
        await bench.topic.unsubscribe(subscription, consumer, force=False)
    with pytest.raises(WriteFailed):
        await bench.topic.delete_subscription("s")
    end, _, _ = await bench.consumer(EXCLUSIVE)
    await bench.publish("a")
    await end.until(lambda e: e.got() == ["a"])
    metadata.fails = False
    await bench.topic.delete_subscription("s", force=True)
    assert "s" not in bench.topic.ledger.cursors


async def test_a_readers_subscription_does_not_outlive_a_seek_that_failed(open_bench, monkeypatch):
    clock = ManualClock()
    bench = await open_bench(clock=clock)
    _, subscription, _ = await bench.consumer(EXCLUSIVE, subscription="r", durable=False)

    async def nowhere(*_):
        raise Fenced

    monkeypatch.setattr(ManagedLedger, "first_where", nowhere)
    with pytest.raises(Fenced):
        await bench.topic.seek_to_time(subscription, 0)
    assert "r" in bench.topic.ledger.cursors
    await asyncio.sleep(0)
    await clock.advance(ABANDONED_AFTER_S)
    assert "r" not in bench.topic.ledger.cursors


async def test_a_reader_that_comes_again_during_its_seek_does_not_end_it(bench, held_search):
    """It is refused, and comes once more: the official client does so as soon as it was let go."""
    _, subscription, _ = await bench.consumer(EXCLUSIVE, subscription="r", durable=False)
    await bench.publish("a", "b")
    seeking = asyncio.ensure_future(bench.topic.seek_to_time(subscription, 0))
    await held_search.arrived.wait()
    with pytest.raises(Fenced, match="a seek or deletion is under way"):
        await bench.consumer(EXCLUSIVE, subscription="r", durable=False)
    held_search.release.set()
    await seeking
    end, again, _ = await bench.consumer(EXCLUSIVE, subscription="r", durable=False)
    assert again is subscription
    await end.until(lambda e: e.got() == ["a", "b"])
