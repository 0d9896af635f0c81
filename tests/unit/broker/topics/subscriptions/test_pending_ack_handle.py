import asyncio

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import GatedLedgerStore

from magnetar.broker.topics.subscriptions import pending_ack_handle
from magnetar.errors import Fenced, NotAllowed, TransactionConflict, WriteFailed
from magnetar.model.position import EARLIEST
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree

ONE, TWO = TxnId(0, 1), TxnId(0, 2)
SHARED, EXCLUSIVE = SubscriptionType.SHARED, SubscriptionType.EXCLUSIVE
CONFLICT = (
    "org.apache.pulsar.transaction.common.exception.TransactionConflictException: "
    "[persistent://public/default/t][s] Transaction:"
)


@pytest.fixture
def tree():
    return MemoryTree()


@pytest.fixture
def reopen(open_bench, tree):
    """Opens the one topic again and again; what went before is left as a crash leaves it."""
    ledgers = MemoryLedgerStore()

    async def open_again(**asked):
        bench = await open_bench(metadata=MemoryMetadataStore(tree), ledgers=ledgers, **asked)
        await bench.topic.recover()
        return bench

    return open_again


@pytest.fixture
async def bench(reopen):
    bench = await reopen()
    await bench.topic.create_subscription("s", EARLIEST)
    await bench.publish(*"abcde")
    return bench


async def conflict(subscription, *arguments, **fields):
    with pytest.raises(TransactionConflict) as refused:
        await subscription.acknowledge_in_transaction(*arguments, **fields)
    return str(refused.value)


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_what_is_pending_is_acknowledged_by_a_commit(bench, kind):
    end, subscription, consumer = await bench.consumer(kind)
    await end.until(lambda end: len(end.got()) == 5)
    first, second, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [second, first])
    assert subscription.backlog == 5
    await subscription.end_transaction(ONE, commit=True)
    assert (subscription.backlog, subscription.mark) == (3, second)
    subscription.redeliver(consumer, None)
    await until_idle()
    assert sorted(end.got()) == sorted("abcde" + "cde")


@pytest.mark.parametrize("kind", SubscriptionType)
async def test_what_is_pending_goes_to_nobody_until_it_is_aborted(bench, kind):
    end, subscription, consumer = await bench.consumer(kind)
    await end.until(lambda end: len(end.got()) == 5)
    second = end.positions()[1]
    await subscription.acknowledge_in_transaction(consumer, ONE, [second])
    subscription.redeliver(consumer, None)
    await until_idle()
    assert sorted(end.got()) == sorted("abcde" + "acde")
    await bench.topic.leave(subscription, consumer)
    other, _, _ = await bench.consumer(kind)
    await other.until(lambda end: len(end.got()) == 4)
    assert sorted(other.got()) == sorted("acde")
    await subscription.end_transaction(ONE, commit=False)
    await until_idle()
    assert sorted(other.got()) == sorted("acde" + "b")


async def test_a_consumer_holds_nothing_that_is_pending(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:2])
    assert consumer.unacked == 3


async def test_what_is_aborted_while_nobody_is_there_comes_in_its_turn(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:2])
    await bench.topic.leave(subscription, consumer)
    await subscription.end_transaction(ONE, commit=False)
    other, _, _ = await bench.consumer(EXCLUSIVE)
    await until_idle()
    assert other.got() == list("abcde")


async def test_conflicts_are_told_as_pulsar_tells_them(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, second, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    for transaction in (TWO, ONE):
        assert await conflict(subscription, consumer, transaction, [second, first]) == (
            f"{CONFLICT}{transaction} try to ack message:{first} (ackSet is null) in pending ack "
            "status."
        )
    subscription.acknowledge(consumer, [second])
    assert "already acked before" in await conflict(subscription, consumer, ONE, [second])
    assert list(subscription._pending.pending.open) == [ONE]


async def test_cumulative_acknowledgements_of_two_transactions_conflict(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    positions = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [positions[2]], cumulative=True)
    assert await conflict(subscription, consumer, TWO, [positions[3]], cumulative=True) == (
        f"{CONFLICT}(0,2) try to cumulative batch ack position: {positions[3]} within range of "
        f"current currentPosition: {positions[2]}"
    )
    subscription.acknowledge_cumulative(consumer, positions[3])
    await subscription.end_transaction(ONE, commit=True)
    assert subscription.mark == positions[3]
    refusal = await conflict(subscription, consumer, TWO, [positions[1]], cumulative=True)
    assert refusal.endswith(
        f"try to cumulative ack position: {positions[1]} within range of cursor's "
        f"markDeletePosition: {positions[3]}"
    )


async def test_a_cumulative_acknowledgement_holds_back_all_before_it(bench):
    end, subscription, consumer = await bench.consumer(EXCLUSIVE)
    await subscription.acknowledge_in_transaction(
        consumer, ONE, [end.positions()[2]], cumulative=True
    )
    await bench.topic.leave(subscription, consumer)
    other, _, _ = await bench.consumer(EXCLUSIVE)
    await until_idle()
    assert other.got() == ["d", "e"]
    await subscription.end_transaction(ONE, commit=False)
    await until_idle()
    assert other.got() == list("de" + "abcde")


async def test_a_cumulative_acknowledgement_of_several_consumers_does_nothing(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(
        consumer, ONE, [end.positions()[2]], cumulative=True
    )
    await subscription.end_transaction(ONE, commit=True)
    assert subscription.backlog == 5


async def test_a_plain_acknowledgement_of_what_is_pending_wins(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    subscription.acknowledge(consumer, [first])
    assert subscription.backlog == 4
    await subscription.end_transaction(ONE, commit=False)
    await until_idle()
    assert end.got() == list("abcde")


async def test_messages_of_a_batch_are_pending_one_by_one(reopen, make_entry):
    bench = await reopen(batch_index_acks=True)
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish(make_entry("batch", batch=3), counts=[3])
    await until_idle()
    (position,) = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [], [(position, [0b110], 3)])
    assert consumer.unacked == 2
    refused = await conflict(subscription, consumer, TWO, [], [(position, [0b100], 3)])
    assert refused.endswith(f"batch message:{position} (ackSet is [4]) in pending ack status.")
    await subscription.acknowledge_in_transaction(consumer, TWO, [], [(position, [0b001], 3)])
    assert consumer.unacked == 0
    await bench.topic.leave(subscription, consumer)
    other, _, _ = await bench.consumer(SHARED)
    await until_idle()
    assert other.got() == []
    await subscription.end_transaction(TWO, commit=False)
    await until_idle()
    assert other.sent[-1][3:] == ("batch", 0, [0b110])
    await subscription.end_transaction(ONE, commit=True)
    assert subscription.cursor.ack_set(position) == [0b110]


@pytest.mark.parametrize("opened_again", [False, True])
async def test_of_a_batch_that_somebody_acknowledges_only_what_was_pending_comes_again(
    reopen, make_entry, opened_again
):
    bench = await reopen()
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish(make_entry("batch", batch=3), counts=[3])
    await until_idle()
    (position,) = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [], [(position, [0b110], 3)])
    await subscription.acknowledge_in_transaction(consumer, TWO, [], [(position, [0b101], 3)])
    if opened_again:
        bench = await reopen()
        _, subscription, consumer = await bench.consumer(SHARED)
    subscription.acknowledge(consumer, [position])
    await bench.topic.leave(subscription, consumer)
    other, _, _ = await bench.consumer(SHARED)
    await until_idle()
    assert other.sent == []
    await subscription.end_transaction(ONE, commit=False)
    await until_idle()
    assert other.sent[-1][3:] == ("batch", 0, [0b001])
    await subscription.end_transaction(TWO, commit=True)
    assert subscription.cursor.ack_set(position) == [0b001]


@pytest.mark.parametrize("commit", [True, False])
async def test_a_crash_forgets_no_acknowledgement_that_was_answered(reopen, bench, commit):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, second, third, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first, third])
    await subscription.acknowledge_in_transaction(consumer, TWO, [second])
    await subscription.end_transaction(TWO, commit=True)
    again = await reopen()
    other, subscription, consumer = await again.consumer(SHARED)
    await until_idle()
    assert other.got() == ["d", "e"]
    await conflict(subscription, consumer, TxnId(0, 3), [first])
    await subscription.end_transaction(ONE, commit=commit)
    await until_idle()
    assert sorted(other.got()) == sorted("de" if commit else "deac")
    last = await reopen()
    end, _, _ = await last.consumer(SHARED)
    await until_idle()
    assert end.got() == list("de" if commit else "acde")


async def test_settled_records_are_trimmed(reopen, bench, monkeypatch):
    monkeypatch.setattr(pending_ack_handle, "RECORDS_MAX", 10)
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish(*map(str, range(100)))
    await until_idle()
    for number, position in enumerate(end.positions()):
        transaction = TxnId(0, number)
        await subscription.acknowledge_in_transaction(consumer, transaction, [position])
        if number % 10:
            await subscription.end_transaction(transaction, commit=number % 3 > 0)
    await until_idle()
    assert subscription._pending._records.record_count <= 20
    pending = {TxnId(0, number) for number in range(0, 105, 10)}
    again = await reopen()
    subscription = again.topic.subscriptions["s"]
    assert set(subscription._pending.pending.open) == pending
    committed = [n for n in range(105) if n % 10 and n % 3]
    assert subscription.backlog == 105 - len(committed)


async def test_what_was_committed_before_a_seek_is_not_done_again(reopen, bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, second, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    await subscription.end_transaction(ONE, commit=True)
    await subscription.acknowledge_in_transaction(consumer, TWO, [second])
    await bench.topic.seek(subscription, EARLIEST)
    again = await reopen()
    other, subscription, _ = await again.consumer(SHARED)
    await until_idle()
    assert other.got() == list("acde")
    await subscription.end_transaction(TWO, commit=False)
    await until_idle()
    assert other.got() == list("acdeb")


async def test_what_nobody_ended_is_aborted_below_the_watermark(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:1])
    await subscription.end_transaction(TxnId(0, 9), commit=True, low_watermark=5)
    await until_idle()
    assert end.got() == list("abcdea")


@pytest.mark.parametrize("before", [0, 1])
async def test_what_comes_after_the_end_is_refused(reopen, bench, before):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, second, *_ = end.positions()
    if before:
        await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    await subscription.end_transaction(ONE, commit=True)
    with pytest.raises(NotAllowed, match="has been ended"):
        await subscription.acknowledge_in_transaction(consumer, ONE, [second])
    await subscription.acknowledge_in_transaction(consumer, TWO, [second])
    if before:
        again = await reopen()
        _, subscription, consumer = await again.consumer(SHARED)
        with pytest.raises(NotAllowed, match="has been ended"):
            await subscription.acknowledge_in_transaction(consumer, ONE, [second])


async def test_what_comes_while_the_end_is_being_written_is_refused(bench):
    end, subscription, consumer = await bench.consumer(SHARED)
    first, second, *_ = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    ending = asyncio.ensure_future(subscription.end_transaction(ONE, commit=True))
    await asyncio.sleep(0)
    with pytest.raises(NotAllowed, match="has been ended"):
        await subscription.acknowledge_in_transaction(consumer, ONE, [second])
    await ending
    assert subscription.backlog == 4


async def test_a_deleted_subscription_leaves_no_log_behind(bench, tree):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:1])
    assert [path for path in tree.records if "pending_ack" in path]
    await bench.topic.delete_subscription("s", force=True)
    assert not [path for path in tree.records if "pending_ack" in path]
    assert not bench.topic.ledger.properties


async def test_a_reader_that_goes_leaves_no_log_behind(bench, tree):
    """One that comes by the same name would do again what was committed for it."""
    end, subscription, consumer = await bench.consumer(SHARED, subscription="r", durable=False)
    await end.until(lambda end: end.got())
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:1])
    await subscription.end_transaction(ONE, commit=True)
    assert [path for path in tree.records if "pending_ack" in path]
    await bench.topic.leave(subscription, consumer)
    assert not [path for path in tree.records if "pending_ack" in path]
    assert not bench.topic.ledger.properties


async def test_a_deleted_topic_leaves_no_log_behind(bench, tree):
    end, subscription, consumer = await bench.consumer(SHARED)
    await subscription.acknowledge_in_transaction(consumer, ONE, end.positions()[:1])
    await bench.topic.delete()
    assert not [path for path in tree.records if "pending_ack" in path]


async def test_topics_that_keep_nothing_have_no_transactions(open_passing):
    bench = open_passing()
    _, subscription, consumer = await bench.consumer(SHARED)
    with pytest.raises(NotAllowed):
        await subscription.acknowledge_in_transaction(consumer, ONE, [])
    with pytest.raises(NotAllowed):
        await subscription.end_transaction(ONE, commit=True)


async def test_an_acknowledgement_that_is_not_stored_unloads_the_topic(open_bench):
    """So that what is pending is learned again from the log, which may have it or not."""
    ledgers = GatedLedgerStore()
    bench = await open_bench(ledgers=ledgers)
    end, subscription, consumer = await bench.consumer(SHARED)
    await bench.publish("a", "b")
    await until_idle()
    first, second = end.positions()
    await subscription.acknowledge_in_transaction(consumer, ONE, [first])
    ledgers.appends.failing = WriteFailed("full")
    with pytest.raises(Fenced):
        await subscription.acknowledge_in_transaction(consumer, ONE, [second])
    assert bench.failed == [bench.topic]
    ledgers.appends.failing = None
