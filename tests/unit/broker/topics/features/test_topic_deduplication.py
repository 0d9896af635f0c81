"""Deduplication is switched by policies, at any time, and its cursor follows."""

from dataclasses import replace

import pytest
from support.loop import until_idle

from magnetar.broker.settings.policies import PolicySettings
from magnetar.broker.topics.features.deduplication import CURSOR
from magnetar.errors import WriteFailed
from magnetar.model.position import EARLIEST
from magnetar.storage.metadata.memory import MemoryMetadataStore

OFF = PolicySettings().policies()
ON = replace(OFF, deduplication=True)


@pytest.fixture
def switch(bench):
    """Switches the topic, and waits until its cursor has followed."""

    async def to(policies):
        bench.topic.apply(policies)
        await bench.topic.recover()

    return to


async def test_a_topic_that_does_not_deduplicate_has_nothing_for_it(bench):
    assert not bench.topic._features.deduplication
    assert bench.topic._features._deduplication is None
    assert not bench.topic.ledger.cursors


async def test_it_is_switched_on_and_off_while_the_topic_is_in_use(bench, switch):
    await bench.publish("a")
    await switch(ON)
    assert bench.topic._features.deduplication
    assert list(bench.topic.ledger.cursors) == [CURSOR]
    assert bench.topic.subscriptions == {}
    stored_before = bench.topic.ledger.entry_count
    await bench.publish("b")  # All have the same sequence id.
    assert (await bench.publish("c"))[0] == "unstored"
    assert bench.topic.ledger.entry_count == stored_before + 1
    await switch(OFF)
    assert not bench.topic._features.deduplication
    assert not bench.topic.ledger.cursors
    assert (await bench.publish("d"))[0] == "receipts"


async def test_switches_that_follow_each_other_leave_what_the_last_one_asked_for(bench, switch):
    for policies in (ON, OFF, ON, OFF, ON):
        bench.topic.apply(policies)
    await switch(ON)
    assert list(bench.topic.ledger.cursors) == [CURSOR]
    assert bench.topic._features.deduplication.started
    for policies in (OFF, ON):
        bench.topic.apply(policies)
    await switch(OFF)
    await until_idle()
    assert not bench.topic.ledger.cursors


async def test_a_cursor_of_former_times_is_deleted(open_bench):
    stores = {"metadata": MemoryMetadataStore()}
    bench = await open_bench(deduplication=True, **stores)
    await bench.topic.recover()
    bench = await open_bench(**stores)
    assert bench.topic.subscriptions == {}
    await bench.topic.recover()
    assert not bench.topic.ledger.cursors


async def test_what_could_not_be_stored_is_raised_and_tried_again(open_bench, monkeypatch):
    metadata = MemoryMetadataStore()
    bench = await open_bench(metadata=metadata)
    put = metadata.put

    def lost(*_, **__):
        raise WriteFailed("the disk is gone")

    monkeypatch.setattr(metadata, "put", lost)
    bench.topic.apply(ON)
    with pytest.raises(WriteFailed):
        await bench.topic.recover()
    monkeypatch.setattr(metadata, "put", put)
    await bench.topic.maintain()
    assert bench.topic._features.deduplication.started


async def test_when_the_topic_rests_it_keeps_nothing_that_no_subscription_needs(bench, switch):
    await switch(ON)
    await bench.topic.create_subscription("s", EARLIEST)
    await bench.publish("a")
    await bench.topic.skip(bench.topic.subscriptions["s"])
    assert await bench.topic.prepare_for_rest()
    assert not bench.topic.ledger.entry_count
    assert bench.topic.ledger.cursors[CURSOR].properties == {"bench": "0"}


async def test_of_a_topic_without_subscriptions_it_lets_nothing_go(bench, switch):
    await switch(ON)
    await bench.publish("a")
    assert await bench.topic.prepare_for_rest()
    assert bench.topic.ledger.entry_count == 1
