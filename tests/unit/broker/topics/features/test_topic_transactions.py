import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until, until_idle
from unit.storage.managed_ledger.logs import GatedLedgerStore, GatedMetadataStore

from magnetar.broker.dispatch.blocked import Why
from magnetar.broker.topics.features import topic_transactions
from magnetar.errors import Fenced, NotAllowed, TopicClosed, WriteFailed
from magnetar.model.position import EARLIEST, Position
from magnetar.model.subscriptions import SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree

ONE, TWO, THREE = TxnId(0, 1), TxnId(0, 2), TxnId(0, 3)
OF_ONE = {"txnid_most_bits": 0, "txnid_least_bits": 1}


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
    return await reopen()


async def test_nothing_from_an_open_transaction_on_is_delivered(bench):
    end, subscription, _ = await bench.consumer(SubscriptionType.SHARED)
    await bench.publish("a")
    await bench.publish("b", "c", transaction=ONE)
    await bench.publish("d")
    await until_idle()
    assert end.got() == ["a"]
    assert subscription.blocked_reason().why is Why.NOT_COMMITTED
    await bench.topic.end_transaction(ONE, commit=True)
    assert end.got() == ["a", "b", "c", "d"]
    assert subscription.blocked_reason().why is Why.AWAITED


async def test_what_is_aborted_is_acknowledged_and_not_delivered(bench):
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", "b", transaction=ONE)
    await bench.publish("c")
    await bench.topic.end_transaction(ONE, commit=False)
    assert end.got() == ["c"]
    subscription.acknowledge(consumer, end.positions())
    assert subscription.backlog == 0


async def test_an_older_transaction_holds_back_newer_ones(bench):
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    await bench.publish("b", transaction=TWO)
    await bench.publish("c", transaction=ONE)
    await bench.topic.end_transaction(TWO, commit=True)
    await until_idle()
    assert end.got() == []
    await bench.topic.end_transaction(ONE, commit=False)
    assert end.got() == ["b"]


async def test_the_reason_of_a_wait_names_the_transaction_and_its_producer(open_bench):
    clock = ManualClock()
    bench = await open_bench(clock=clock)
    _, subscription, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    clock.move(7)
    why = subscription.blocked_reason()
    assert (why.transaction, why.producer, why.held_s) == ("(0,1)", "bench", 7)


async def test_an_end_is_answered_again_and_changes_nothing(bench):
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    await bench.topic.end_transaction(ONE, commit=True)
    last = bench.topic.last_position
    await bench.topic.end_transaction(ONE, commit=True)
    await bench.topic.end_transaction(ONE, commit=False)
    await bench.topic.end_transaction(THREE, commit=True)
    assert (bench.topic.last_position, end.got()) == (last, ["a"])


async def test_a_topic_without_transactions_has_nothing_to_end(bench):
    await bench.publish("a")
    await bench.topic.end_transaction(ONE, commit=True)
    assert bench.topic.last_position.entry_id == 0


async def test_an_end_comes_behind_what_is_being_stored(bench, make_run, make_entry):
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    bench._producer.publish(make_run(make_entry("b", **OF_ONE), transaction=ONE))
    await bench.topic.end_transaction(ONE, commit=True)
    assert end.got() == ["a", "b"]


async def test_a_late_send_is_refused_in_its_turn(bench, make_run, make_entry):
    await bench.publish("a", transaction=ONE)
    await bench.topic.end_transaction(ONE, commit=True)
    sent = bench._end.sent
    bench._producer.publish(make_run(make_entry("b")))
    bench._producer.publish(
        make_run(make_entry("c", **OF_ONE), make_entry("d", **OF_ONE), transaction=ONE)
    )
    await bench._end.until(lambda end: len(end.sent) == 3)
    assert [what[0] for what in sent] == ["receipts", "receipts", "errors"]
    error = sent[-1][-1]
    assert isinstance(error, NotAllowed)
    assert "Transaction [(0,1)] has been ended. Please use a new transaction" in str(error)
    await bench.publish("e", transaction=TWO)


@pytest.mark.parametrize("others", [False, True])
async def test_the_first_send_is_refused_after_the_end(bench, make_run, make_entry, others):
    """Else the topic would wait for it forever: nobody ends it again."""
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("first")
    if others:
        await bench.publish("before", transaction=TWO)
        await bench.topic.end_transaction(TWO, commit=False)
    await bench.topic.end_transaction(ONE, commit=False)
    bench._producer.publish(make_run(make_entry("late", **OF_ONE), transaction=ONE))
    await bench._end.until(lambda end: end.sent[-1:] and end.sent[-1][0] == "errors")
    await bench.publish("after")
    assert end.got() == ["first", "after"]


async def test_what_nobody_ended_is_aborted_below_the_watermark(bench):
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    await bench.publish("b", transaction=THREE)
    await bench.topic.end_transaction(THREE, commit=True, low_watermark=2)
    assert end.got() == ["b"]
    assert (await bench.publish("c", transaction=TWO))[0] == "errors"


async def test_a_crash_forgets_neither_open_nor_aborted_nor_committed_ones(reopen):
    bench = await reopen()
    await bench.topic.create_subscription("s", EARLIEST)
    await bench.publish("a", "b", transaction=ONE)
    await bench.publish("c", transaction=TWO)
    await bench.publish("d", transaction=THREE)
    await bench.publish("e")
    await bench.topic.end_transaction(ONE, commit=True)
    await bench.topic.end_transaction(TWO, commit=False)
    again = await reopen()
    end, subscription, _ = await again.consumer(SubscriptionType.EXCLUSIVE)
    await until_idle()
    assert end.got() == ["a", "b"]
    assert subscription.blocked_reason().transaction == "(0,3)"
    await again.topic.end_transaction(THREE, commit=True)
    assert end.got() == ["a", "b", "d", "e"]


async def test_transactions_that_were_aborted_side_by_side_are_one_range(reopen, monkeypatch):
    monkeypatch.setattr(topic_transactions, "SNAPSHOT_ENTRIES", 10)
    bench = await reopen()
    for number in range(0, 100, 2):
        for each in (number, number + 1):
            await bench.publish(f"{each}", transaction=TxnId(0, each))
        for each in (number + 1, number):
            await bench.topic.end_transaction(TxnId(0, each), commit=False)
    await until_idle()
    again = await reopen()
    transactions = again.topic._features.transactions
    assert transactions._unsaved <= 10
    assert [len(ranges) for ranges in transactions.buffer.aborted.values()] == [1]
    assert await again.topic.log.last_message_id() == (EARLIEST, -1)


async def test_what_was_published_before_the_first_transaction_is_not_read_again(reopen):
    bench = await reopen()
    await bench.topic.create_subscription("s", EARLIEST)
    await bench.publish(*"abc")
    await bench.publish("d", transaction=ONE)
    again = await reopen()
    assert again.topic._features.transactions._unsaved == 1


async def test_a_snapshot_spares_the_reading(reopen, monkeypatch):
    monkeypatch.setattr(topic_transactions, "SNAPSHOT_ENTRIES", 10)
    bench = await reopen()
    await bench.topic.create_subscription("s", EARLIEST)
    for number in range(60):
        transaction = TxnId(0, number)
        await bench.publish(f"{number}a", f"{number}b", transaction=transaction)
        if number % 7 == 3:
            continue
        await bench.topic.end_transaction(transaction, commit=number % 3 > 0)
    await until_idle()
    again = await reopen()
    transactions = again.topic._features.transactions
    assert transactions._unsaved <= 10
    assert list(transactions.buffer.open) == [TxnId(0, n) for n in range(60) if n % 7 == 3]
    end, _, _ = await again.consumer(SubscriptionType.EXCLUSIVE)
    await again.topic.end_transaction(TxnId(0, 60), commit=True, low_watermark=59)
    expected = [f"{n}{x}" for n in range(60) if n % 7 != 3 and n % 3 > 0 for x in "ab"]
    await until_idle()
    assert end.got() == expected


async def test_the_first_transaction_waits_until_the_log_says_that_there_is_one(reopen):
    """What is stored before that would be shown after a crash."""
    bench = await reopen()
    await bench.publish("a")
    await bench.publish("b", transaction=ONE)
    assert any("transactions" in name for name in bench.topic.ledger.properties)
    assert bench.topic.log.properties == {}
    with pytest.raises(NotAllowed):
        await bench.topic.log.change_properties({}, ["magnetar.transactions.published_behind"])


async def test_the_last_message_is_none_that_consumers_do_not_get(bench):
    log = bench.topic.log
    await bench.publish("a")
    await bench.publish("b", transaction=ONE)
    assert await bench.topic.log.last_message_id() == (Position(*_of(log, 0)), -1)
    await bench.topic.end_transaction(ONE, commit=True)
    assert await bench.topic.log.last_message_id() == (Position(*_of(log, 1)), -1)
    await bench.publish("c", transaction=TWO)
    await bench.topic.end_transaction(TWO, commit=False)
    assert await bench.topic.log.last_message_id() == (Position(*_of(log, 1)), -1)


def _of(log, entry_id):
    return log.first.ledger_id, entry_id


async def test_what_is_aborted_is_not_looked_at(bench):
    await bench.publish("a", transaction=ONE)
    await bench.publish("b")
    await bench.topic.end_transaction(ONE, commit=False)
    run = await bench.topic.log.read(EARLIEST, 10, 1000)
    assert run.first.entry_id == 1


async def test_an_end_can_be_asked_for_after_the_topic_was_terminated(bench):
    end, subscription, consumer = await bench.consumer(SubscriptionType.EXCLUSIVE)
    await bench.publish("a", transaction=ONE)
    await bench.topic.terminate()
    await bench.topic.end_transaction(ONE, commit=True)
    assert end.got() == ["a"]
    subscription.acknowledge(consumer, end.positions())
    assert end.sent[-1][0] == "end"


async def test_a_closed_topic_ends_nothing(bench):
    await bench.publish("a", transaction=ONE)
    await bench.topic.close()
    with pytest.raises(TopicClosed):
        await bench.topic.end_transaction(ONE, commit=True)


async def test_a_deleted_topic_leaves_no_log_behind(reopen, tree, monkeypatch):
    monkeypatch.setattr(topic_transactions, "SNAPSHOT_ENTRIES", 1)
    bench = await reopen()
    await bench.publish("a", transaction=ONE)
    await until_idle()
    assert [path for path in tree.records if "transaction_buffer_snapshot" in path]
    await bench.topic.delete()
    assert not [path for path in tree.records if "transaction" in path]


async def test_nothing_is_appended_before_the_log_says_that_it_has_transactions(open_bench):
    metadata = GatedMetadataStore(MemoryTree())
    bench = await open_bench(metadata=metadata)
    await bench.publish("a")
    metadata.puts.close()
    sending = asyncio.ensure_future(bench.publish("b", transaction=ONE))
    await until_idle()
    assert (sending.done(), bench.topic.last_position.entry_id) == (False, 0)
    metadata.puts.open()
    assert (await sending)[0] == "receipts"


async def test_where_the_log_cannot_say_so_the_send_is_refused_and_the_topic_unloaded(open_bench):
    metadata = GatedMetadataStore(MemoryTree())
    bench = await open_bench(metadata=metadata)
    await bench.publish("a")
    metadata.puts.failing = WriteFailed("gone")
    await bench.publish("b", transaction=ONE)
    assert [what[0] for what in bench._end.sent[-2:]] == ["errors", "close_producer"]
    assert bench.failed == [bench.topic]
    metadata.puts.failing = None


async def test_an_end_that_is_not_stored_is_not_answered_as_one(open_bench):
    ledgers = GatedLedgerStore()
    bench = await open_bench(ledgers=ledgers)
    await bench.publish("a", transaction=ONE)
    ledgers.appends.failing = WriteFailed("full")
    with pytest.raises(Fenced):
        await bench.topic.end_transaction(ONE, commit=True)
    assert bench.failed == [bench.topic]
    ledgers.appends.failing = None


async def test_two_that_ask_for_an_end_at_once_have_it_once(bench):
    await bench.publish("a", transaction=ONE)
    await asyncio.gather(*(bench.topic.end_transaction(ONE, commit=True) for _ in range(3)))
    assert bench.topic.last_position.entry_id == 1


async def test_deduplication_is_asked_before_transactions(open_bench):
    """Or a duplicate would be taken for one that is being stored."""
    bench = await open_bench(deduplication=True)
    await bench.publish("a", transaction=ONE)
    await bench.publish("a", transaction=ONE)
    assert bench._end.sent[-1][0] == "unstored"
    await bench.topic.end_transaction(ONE, commit=True)
    assert bench.topic.last_position.entry_id == 1


async def test_compaction_keeps_what_was_committed_and_ends_before_what_is_open(bench, make_entry):
    def keyed(text, number):
        named = {} if number is None else {"txnid_most_bits": 0, "txnid_least_bits": number}
        return make_entry(text, key="k", **named)

    await bench.publish(keyed("plain", None))
    await bench.publish(keyed("committed", 1), transaction=ONE)
    await bench.publish(keyed("aborted", 2), transaction=TWO)
    await bench.topic.end_transaction(ONE, commit=True)
    await bench.topic.end_transaction(TWO, commit=False)
    await bench.publish(keyed("open", 3), transaction=THREE)
    bench.topic.compact()
    await until(lambda: not bench.topic.compaction.running)
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE, read_compacted=True)
    await until_idle()
    assert end.got() == ["committed"]
    assert await bench.topic.log.last_message_id(compacted=True) == (end.positions()[0], -1)
    await bench.topic.end_transaction(THREE, commit=True)
    await until_idle()
    assert end.got() == ["committed", "open"]


@pytest.mark.parametrize("key", ["k", None])
async def test_behind_what_compaction_left_an_aborted_transaction_is_nothing(
    bench, make_entry, key
):
    """A reader waited for the last message that compaction had taken away."""
    await bench.publish(make_entry("plain", **({} if key is None else {"key": key})))
    bench.topic.compact()
    await until(lambda: not bench.topic.compaction.running)
    await bench.publish("aborted", transaction=ONE)
    await bench.topic.end_transaction(ONE, commit=False)
    end, _, _ = await bench.consumer(SubscriptionType.EXCLUSIVE, read_compacted=True)
    await until_idle()
    assert end.got() == ([] if key is None else ["plain"])
    last = (EARLIEST, -1) if key is None else (end.positions()[0], -1)
    assert await bench.topic.log.last_message_id(compacted=True) == last


async def test_a_reader_begins_where_it_asks_to_and_waits_as_others_do(bench):
    await bench.publish("a")
    _, _, _, ledger_id, entry_id = await bench.publish("b", "c", transaction=ONE)
    end, _, _ = await bench.consumer(
        SubscriptionType.EXCLUSIVE, durable=False, start=Position(ledger_id, entry_id + 1)
    )
    await until_idle()
    assert end.got() == []
    await bench.topic.end_transaction(ONE, commit=True)
    await until_idle()
    assert end.got() == ["c"]
