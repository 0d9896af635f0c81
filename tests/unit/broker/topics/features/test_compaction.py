"""broker/topics/features/compaction.py: a topic that is compacted while it serves."""

import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until, until_idle

from magnetar.broker.topics.features.compaction import bytes_to_compact
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.errors import AlreadyExists, ProducerBusy, TopicClosed
from magnetar.message.compaction import MESSAGES_AT_ONCE
from magnetar.model.policy_values import InactiveTopicDeleteMode, InactiveTopicPolicies
from magnetar.model.position import EARLIEST, Position
from magnetar.model.process_status import ProcessStatus
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR

EXCLUSIVE, FAILOVER = SubscriptionType.EXCLUSIVE, SubscriptionType.FAILOVER


async def compact(topic):
    topic.compact()
    await until(lambda: not topic.compaction.running)
    assert topic.compaction.status is ProcessStatus.SUCCESS, topic.compaction.last_error


async def publish(bench, make_entry, *pairs):
    """Entries of ``key`` and ``text``; "" removes the key."""
    entries = [make_entry(text, key=key, uncompressed_size=len(text)) for key, text in pairs]
    await bench.publish(*entries)


async def compacted(bench, **fields):
    """What a new reader gets, and from where."""
    name = f"reader-{len(bench.topic.subscriptions)}"
    options = {"subscription": name, "durable": False, "read_compacted": True, "start": EARLIEST}
    end, _, _ = await bench.consumer(EXCLUSIVE, **(options | fields))
    await until_idle()
    return end


async def test_a_reader_gets_the_last_of_each_key_where_it_was(bench, make_entry):
    pairs = [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("b", ""), (None, "x")]
    await publish(bench, make_entry, *pairs)
    assert bench.topic.compaction is None
    await compact(bench.topic)
    await publish(bench, make_entry, ("a", "3"))
    end = await compacted(bench)
    assert (end.got(), [place.entry_id for place in end.positions()]) == (
        ["2", "1", "3"],
        [2, 3, 6],
    )
    plain = await compacted(bench, read_compacted=False)
    assert plain.got() == ["1", "1", "2", "1", "", "x", "3"]
    done = bench.topic.compaction
    assert (done.removed_count, done.failed_ms, done.succeeded_ms > 0) == (4, 0, True)
    size_bytes = sum(map(len, (await bench.topic.ledger.read(EARLIEST, 6, 10_000)).data))
    assert done.read_bytes == 2 * size_bytes, "once to see what stays, once to copy it"
    left = bench.topic.ledger.compacted
    assert (done.writes.entries, 0 < done.writes.size_bytes < size_bytes) == (2, True)
    stats = topic_stats(bench.topic)
    assert stats.compaction_writes is done.writes
    assert (stats.compacted_entries, stats.compacted_bytes) == (2, left.size_bytes)
    assert COMPACTION_CURSOR not in bench.topic.subscriptions


async def test_compacting_again_takes_what_is_there_and_what_came(bench, make_entry):
    await publish(bench, make_entry, ("a", "1"), ("b", "1"))
    await compact(bench.topic)
    cursor = bench.topic.ledger.cursors[COMPACTION_CURSOR]
    await publish(bench, make_entry, ("a", ""), ("c", "1"))
    assert bytes_to_compact(bench.topic.ledger) == cursor.backlog_bytes > 0
    await compact(bench.topic)
    assert (await compacted(bench)).got() == ["1", "1"]
    before = bench.topic.ledger.compacted
    await compact(bench.topic)
    assert bench.topic.ledger.compacted is before, "nothing was published"


async def test_an_empty_topic_is_compacted_at_once(bench):
    await compact(bench.topic)
    assert COMPACTION_CURSOR not in bench.topic.ledger.cursors


async def test_messages_without_a_key_may_be_retained(open_bench, make_entry):
    bench = await open_bench(compaction_retains_null_key=True)
    await publish(bench, make_entry, (None, "x"), ("a", "1"), ("a", "2"))
    await compact(bench.topic)
    assert (await compacted(bench)).got() == ["x", "2"]


async def test_one_at_a_time(bench, make_entry):
    await publish(bench, make_entry, ("a", "1"))
    bench.topic.compact()
    with pytest.raises(AlreadyExists, match="Compaction already in progress"):
        bench.topic.compact()
    assert not bench.topic.idle
    await until(lambda: not bench.topic.compaction.running)


async def test_others_have_their_turns(bench, make_entry):
    await bench.publish(*(make_entry("x", key=str(key)) for key in range(3 * MESSAGES_AT_ONCE)))
    bench.topic.compact()
    turns = 0
    while bench.topic.compaction.running:
        await asyncio.sleep(0)
        turns += 1
    assert turns > 6
    assert len((await compacted(bench, permits=10_000)).got()) == 3 * MESSAGES_AT_ONCE


async def test_too_many_keys_are_an_error_that_says_what_to_do(open_bench, make_entry):
    bench = await open_bench(compaction_keys_max=2)
    await publish(bench, make_entry, ("a", "1"), ("b", "1"), ("c", "1"))
    bench.topic.compact()
    await until(lambda: not bench.topic.compaction.running)
    failed = bench.topic.compaction
    assert failed.status is ProcessStatus.ERROR
    assert "compactionKeysMax" in failed.last_error
    assert failed.failed_ms
    assert bench.topic.ledger.compacted is None
    assert bench.topic.ledger.cursors[COMPACTION_CURSOR].properties == {}, "nothing is left behind"


async def test_a_defect_is_an_error_and_not_the_end(bench, make_entry, monkeypatch):
    await publish(bench, make_entry, ("a", "1"))

    async def broken():
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(type(bench.topic.ledger), "begin_compaction", lambda _: broken())
    bench.topic.compact()
    await until(lambda: not bench.topic.compaction.running)
    assert bench.topic.compaction.last_error == "ZeroDivisionError: oh"


async def test_a_topic_that_closes_stops_it(bench, make_entry):
    await bench.publish(*(make_entry("x", key=str(key)) for key in range(3 * MESSAGES_AT_ONCE)))
    bench.topic.compact()
    await asyncio.sleep(0)
    await bench.topic.close()
    assert bench.topic.compaction.status is ProcessStatus.NOT_RUN
    with pytest.raises(TopicClosed):
        bench.topic.compact()
    await bench.topic.compact_if_due()


async def test_it_begins_by_itself_when_so_much_was_published(open_bench, make_entry):
    bench = await open_bench(compaction_threshold_bytes=500)
    await publish(bench, make_entry, ("a", "x" * 400))
    await bench.topic.compact_if_due()
    assert bench.topic.compaction is None
    await publish(bench, make_entry, ("a", "y" * 400))
    await bench.topic.compact_if_due()
    await bench.topic.compact_if_due()
    await until(lambda: not bench.topic.compaction.running)
    assert (await compacted(bench)).got() == ["y" * 400]
    await bench.topic.compact_if_due()
    assert not bench.topic.compaction.running, "nothing was published since"


async def test_few_topics_are_compacted_at_the_same_time(open_bench, make_entry):
    """The places are the broker's: whoever waits for one is under way."""
    bench = await open_bench(clock=ManualClock())
    await publish(bench, make_entry, ("a", "1"))
    bench.topic.compact()
    places = bench.topic.compaction._places
    await places.acquire()
    await until_idle()
    assert bench.topic.compaction.running
    places.release()
    await until(lambda: not bench.topic.compaction.running)


async def test_the_last_message_id_of_a_compacted_reader(bench, make_entry):
    last = bench.topic.log.last_message_id
    await publish(bench, make_entry, ("a", "1"), ("b", "1"), ("b", ""))
    await compact(bench.topic)
    ledger_id = bench.topic.last_position.ledger_id
    assert await last(compacted=True) == (Position(ledger_id, 0), -1)
    assert await last() == (Position(ledger_id, 2), -1)
    await publish(bench, make_entry, ("a", ""))
    assert await last(compacted=True) == (Position(ledger_id, 3), -1)
    await compact(bench.topic)
    assert await last(compacted=True) == (EARLIEST, -1)


async def test_nobody_waits_for_chunks_that_stay_until_the_last_one_comes(bench, make_entry):
    last = bench.topic.log.last_message_id
    said = {"num_chunks_from_msg": 2, "total_chunk_msg_size": 2, "uuid": "u"}
    first, second = (make_entry("c", key="b", chunk_id=index, **said) for index in range(2))
    await publish(bench, make_entry, ("a", "1"))
    await bench.publish(first)
    await publish(bench, make_entry, (None, "x"))
    await compact(bench.topic)
    assert bench.topic.ledger.compacted.entry_count == 2
    ledger_id = bench.topic.last_position.ledger_id
    assert await last(compacted=True) == (Position(ledger_id, 0), -1)
    await bench.publish(second)
    assert await last(compacted=True) == (Position(ledger_id, 3), -1)
    await compact(bench.topic)
    assert await last(compacted=True) == (Position(ledger_id, 3), -1)
    assert (await compacted(bench)).got() == ["1", "c", "c"]


async def test_the_active_consumer_says_how_the_topic_is_read(bench, make_entry):
    await publish(bench, make_entry, ("a", "1"), ("a", "2"))
    await compact(bench.topic)
    compacting, subscription, consumer = await bench.consumer(FAILOVER, "a", read_compacted=True)
    await compacting.until(lambda end: end.got() == ["2"])
    plain, _, _ = await bench.consumer(FAILOVER, "b", consumer_id=2)
    await bench.topic.leave(subscription, consumer)
    # What compaction removed counts as acknowledged.
    await plain.until(lambda end: end.got() == ["2"])


async def test_a_seek_leads_back_into_what_was_compacted(bench, make_entry):
    await publish(bench, make_entry, ("a", "1"), ("b", "1"), ("a", "2"))
    await compact(bench.topic)
    _, subscription, _ = await bench.consumer(EXCLUSIVE, read_compacted=True)
    for target, expected in [(EARLIEST, ["1", "2"]), (bench.topic.last_position, ["2"])]:
        await bench.topic.seek(subscription, target)
        end, _, _ = await bench.consumer(EXCLUSIVE, read_compacted=True)
        await end.until(lambda end, expected=expected: end.got() == expected)


async def test_its_cursor_may_be_deleted(bench, make_entry):
    await publish(bench, make_entry, ("a", "1"), ("a", "2"))
    await bench.topic.create_subscription("holds", EARLIEST)
    await compact(bench.topic)
    await bench.topic.delete_subscription(COMPACTION_CURSOR)
    assert (await compacted(bench)).got() == ["1", "2"]
    await compact(bench.topic)
    assert (await compacted(bench)).got() == ["2"]


async def test_nobody_subscribes_by_its_name(bench):
    with pytest.raises(ProducerBusy, match="reserved"):
        await bench.consumer(EXCLUSIVE, subscription=COMPACTION_CURSOR)


@pytest.mark.parametrize("mode", InactiveTopicDeleteMode)
async def test_it_counts_as_a_subscription_when_unused_topics_are_deleted(
    open_bench, make_entry, mode
):
    bench = await open_bench(inactive_topics=InactiveTopicPolicies(mode, 7, True))
    assert bench.topic.unused_max_s == 7
    await publish(bench, make_entry, ("a", "1"))
    await compact(bench.topic)
    bench.topic.producers["bench"].detach()
    caught_up = mode is InactiveTopicDeleteMode.CAUGHT_UP
    assert bench.topic.unused_max_s == (7 if caught_up else None)
    bench._producer = None
    await publish(bench, make_entry, ("a", "2"))
    bench.topic.producers["bench"].detach()
    assert bench.topic.unused_max_s is None
