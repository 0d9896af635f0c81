"""Duplicates are answered in their turn, and what must be known outlives the topic."""

import asyncio

import pytest
from support.clock import ManualClock

from magnetar.broker.topics.features.deduplication import CURSOR, READ_ENTRIES_MAX
from magnetar.errors import TopicClosed, WriteFailed
from magnetar.model.position import EARLIEST
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.metadata.memory import MemoryMetadataStore

STORED_BEFORE = (-1, -1)


@pytest.fixture
def sends(make_entry, make_run):
    """Makes a run of single sends with these ids."""

    def make(*ids):
        run = make_run(*(make_entry(str(each), sequence_id=each) for each in ids))
        run.sequences = list(ids)
        return run

    return make


@pytest.fixture
async def bench(open_bench):
    bench = await open_bench(deduplication=True, deduplication_entries_interval=3)
    await bench.topic.recover()
    return bench


@pytest.fixture
async def producer(bench, client_end):
    return await bench.topic.attach_producer(client_end(), 1, "p")


def answers(producer):
    """Of each run that was answered: how many sends, and where they were stored."""
    sent = [each for each in producer.connection.sent if each[0] in {"receipts", "unstored"}]
    return [(each[2], *(each[3:] if each[0] == "receipts" else STORED_BEFORE)) for each in sent]


async def answered(producer, count):
    await producer.connection.until(lambda end: len(end.sent) >= count)
    return answers(producer)


def cursor_of(bench):
    return bench.topic.ledger.cursors[CURSOR]


async def test_what_is_sent_again_is_not_stored_again(bench, producer, sends):
    producer.publish(sends(0, 1))
    (first,) = await answered(producer, 1)
    producer.publish(sends(1, 0))
    assert answers(producer)[1:] == [(2, *STORED_BEFORE)]
    producer.publish(sends(1, 2, 2))
    assert await answered(producer, 5) == [
        first,
        (2, *STORED_BEFORE),
        (1, *STORED_BEFORE),
        (1, first[1], 2),
        (1, *STORED_BEFORE),
    ]
    assert bench.topic.ledger.entry_count == 3


async def test_a_duplicate_of_what_is_being_stored_is_answered_after_it(bench, producer, sends):
    producer.publish(sends(0, 1))
    await asyncio.sleep(0)  # It is appended, and not answered yet.
    producer.publish(sends(0, 1, 2))
    assert not answers(producer)
    found = await answered(producer, 3)
    assert [answer[0] for answer in found] == [2, 2, 1]
    assert found[1][1:] == STORED_BEFORE
    assert bench.topic.ledger.entry_count == 3
    assert producer.entries_pending == 0


async def test_a_duplicate_of_what_could_not_be_stored_is_refused_with_it(
    producer, sends, monkeypatch
):
    def broken(*append):
        asyncio.get_running_loop().call_soon(append[-1], 0, 0, WriteFailed("the disk is gone"))

    monkeypatch.setattr(ManagedLedger, "append", broken)
    producer.publish(sends(0, 0))
    await producer.connection.until(lambda end: len(end.sent) >= 2)
    assert [sent[0] for sent in producer.connection.sent[:2]] == ["errors", "errors"]


async def test_a_producer_is_told_its_last_id_that_is_stored(bench, producer, client_end, sends):
    assert producer.last_sequence_id == -1
    producer.publish(sends(0, 7))
    await answered(producer, 1)
    producer.detach()
    again = await bench.topic.attach_producer(client_end(), 1, "p")
    assert again.last_sequence_id == 7


async def test_who_comes_again_is_told_of_what_was_being_stored(bench, producer, client_end, sends):
    producer.publish(sends(0, 1))
    await asyncio.sleep(0)  # It is appended, and not answered yet.
    producer.detach()
    again = await bench.topic.attach_producer(client_end(), 1, "p")
    assert again.last_sequence_id == 1


async def test_who_comes_again_is_told_of_what_a_dead_connection_had_sent(
    bench, producer, client_end, sends, monkeypatch
):
    tell = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(ManagedLedger, "append", lambda *append: tell.set_result(append[-1]))
    former = producer.connection
    former.lives = False
    former.answers.clear()
    again = asyncio.create_task(bench.topic.attach_producer(client_end(), 1, "p"))
    await former.asked.wait()
    producer.publish(sends(0, 1))
    appended = await tell
    former.answers.set()
    await asyncio.sleep(0)  # It is attached, and waits.
    appended(0, 0, None)
    assert (await again).last_sequence_id == 1


async def test_who_is_sent_away_before_it_is_told_what_is_stored_is_refused(
    bench, producer, client_end, sends, monkeypatch
):
    tell = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(ManagedLedger, "append", lambda *append: tell.set_result(append[-1]))
    producer.publish(sends(0, 1))
    await asyncio.sleep(0)
    producer.detach()
    again = asyncio.create_task(bench.topic.attach_producer(client_end(), 1, "p"))
    appended = await tell
    await asyncio.sleep(0)  # It is attached, and waits.
    bench.topic.producers["p"].detach()
    appended(0, 0, None)
    with pytest.raises(TopicClosed, match="'p' was sent away"):
        await again


async def test_who_leaves_before_it_is_told_what_is_stored_keeps_no_place(
    bench, producer, client_end, sends, monkeypatch
):
    tell = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(ManagedLedger, "append", lambda *append: tell.set_result(append[-1]))
    producer.publish(sends(0, 1))
    await asyncio.sleep(0)
    producer.detach()
    again = asyncio.create_task(bench.topic.attach_producer(client_end(), 1, "p"))
    appended = await tell
    await asyncio.sleep(0)  # It is attached, and waits.
    assert bench.topic.producers
    again.cancel()
    with pytest.raises(asyncio.CancelledError):
        await again
    assert not bench.topic.producers
    appended(0, 0, None)


async def test_who_comes_again_is_told_of_nothing_that_could_not_be_stored(
    bench, producer, client_end, sends, monkeypatch
):
    tell = asyncio.get_running_loop().create_future()
    monkeypatch.setattr(ManagedLedger, "append", lambda *append: tell.set_result(append[-1]))
    producer.publish(sends(0, 1))
    await asyncio.sleep(0)
    producer.detach()
    again = asyncio.create_task(bench.topic.attach_producer(client_end(), 1, "p"))
    appended = await tell
    assert not again.done()
    appended(0, 0, WriteFailed("the disk is gone"))
    with pytest.raises(TopicClosed):
        await again


async def test_after_so_many_entries_a_snapshot_is_saved(bench, producer, sends):
    producer.publish(sends(0, 1))
    await answered(producer, 1)
    assert cursor_of(bench).properties == {}
    producer.publish(sends(2))
    await answered(producer, 2)
    assert cursor_of(bench).properties == {"p": "2"}
    assert cursor_of(bench).mark == bench.topic.last_position
    assert not cursor_of(bench).saved
    producer.publish(sends(3, 4, 5))  # The next one waits until this one is saved.
    await answered(producer, 3)
    assert cursor_of(bench).properties == {"p": "2"}


@pytest.fixture
def open_again(open_bench):
    """Opens the topic on the same stores; the one before is left as by a crash."""
    stores = {"metadata": MemoryMetadataStore(), "ledgers": MemoryLedgerStore()}

    async def open_it(**asked):
        bench = await open_bench(**stores, **{"deduplication": True, **asked})
        await bench.topic.recover()
        return bench

    return open_it


async def test_the_entries_behind_the_snapshot_tell_the_rest(
    open_again, client_end, sends, make_run
):
    bench = await open_again()
    producer = await bench.topic.attach_producer(client_end(), 1, "p")
    producer.publish(sends(0, 1))
    await answered(producer, 1)
    bench.topic._features.deduplication.snapshot()
    await cursor_of(bench).flush()
    producer.publish(sends(2))
    producer.publish(make_run(b"\0\0\0\xffunreadable"))
    await answered(producer, 3)
    bench = await open_again()
    assert cursor_of(bench).properties == {"p": "1"}
    again = await bench.topic.attach_producer(client_end(), 1, "p")
    assert again.last_sequence_id == 2


async def test_very_many_entries_are_learned_a_part_at_a_time(open_again, client_end, sends):
    bench = await open_again()
    producer = await bench.topic.attach_producer(client_end(), 1, "p")
    producer.publish(sends(*range(2 * READ_ENTRIES_MAX + 1)))
    await answered(producer, 1)
    assert cursor_of(bench).properties  # Not saved yet, and so lost.
    bench = await open_again()
    assert bench.topic._features.deduplication.ids.last("p") == 2 * READ_ENTRIES_MAX
    assert cursor_of(bench).properties == {"p": str(2 * READ_ENTRIES_MAX)}


async def test_after_a_clean_end_there_is_nothing_to_learn(open_again, client_end, sends):
    bench = await open_again()
    await bench.topic.create_subscription("s", EARLIEST)
    producer = await bench.topic.attach_producer(client_end(), 1, "p")
    producer.publish(sends(0, 1))
    await answered(producer, 1)
    await bench.topic.close()
    bench = await open_again()
    assert cursor_of(bench).properties == {"p": "1"}
    assert cursor_of(bench).mark == bench.topic.last_position


async def test_when_time_is_up_a_snapshot_is_taken_of_few_entries(open_bench, client_end, sends):
    clock = ManualClock()
    bench = await open_bench(clock=clock, deduplication=True, deduplication_snapshot_interval_s=120)
    await bench.topic.recover()
    producer = await bench.topic.attach_producer(client_end(), 1, "p")
    producer.publish(sends(0))
    await answered(producer, 1)
    await clock.advance(119)
    await bench.topic.maintain()
    assert cursor_of(bench).properties == {}
    await clock.advance(1)
    await bench.topic.maintain()
    assert cursor_of(bench).properties == {"p": "0"}


async def test_who_is_gone_for_long_is_forgotten_for_good(open_bench, client_end, sends):
    clock = ManualClock()
    bench = await open_bench(clock=clock, deduplication=True, deduplication_idle_minutes=1)
    await bench.topic.recover()
    producer = await bench.topic.attach_producer(client_end(), 1, "p")
    producer.publish(sends(0))
    await answered(producer, 1)
    bench.topic._features.deduplication.snapshot()
    assert cursor_of(bench).properties == {"p": "0"}
    producer.detach()
    await bench.topic.maintain()
    await clock.advance(60)
    await bench.topic.maintain()
    assert cursor_of(bench).properties == {}
    again = await bench.topic.attach_producer(client_end(), 1, "p")
    assert again.last_sequence_id == -1
