"""Publishing, attaching, and what happens when a write fails."""

import asyncio

import pytest
from support.clock import ManualClock
from support.loop import until

from magnetar.broker.topics.persistent_topic import ABANDONED_AFTER_S, AHEAD_MIN
from magnetar.errors import (
    ConsumerBusy,
    Fenced,
    NotAllowed,
    ProducerBusy,
    SubscriptionNotFound,
    TopicClosed,
    WriteFailed,
)
from magnetar.model.position import EARLIEST, LATEST, Position
from magnetar.model.subscriptions import InitialPosition, SubscriptionType
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger
from magnetar.storage.metadata.memory import MemoryMetadataStore

EXCLUSIVE = SubscriptionType.EXCLUSIVE


async def test_receipts_name_consecutive_entries(bench):
    _, _, count, ledger_id, first = await bench.publish("a", "b")
    assert (count, first) == (2, 0)
    assert (await bench.publish("c"))[3:] == (ledger_id, 2)


async def test_a_topic_appends_what_came_meanwhile_then_answers_then_dispatches(
    bench, client_end, make_entry, make_run, monkeypatch
):
    append, end = ManagedLedger.append, client_end()

    def noted(ledger, entries, answered):
        end.sent.append(("append", len(entries.data)))
        append(ledger, entries, answered)

    monkeypatch.setattr(ManagedLedger, "append", noted)
    await bench.consumer(EXCLUSIVE, end=end)
    producer = await bench.topic.attach_producer(end, 1, "p")
    producer.publish(make_run(make_entry("a")))
    await asyncio.sleep(0)  # The end of the iteration: it is appended, and not answered yet.
    producer.publish(make_run(make_entry("b")))
    await end.until(lambda e: e.got() == ["a", "b"])
    assert [sent[0] for sent in end.sent] == ["append", "append", *["receipts", "entry"] * 2]


class SlowLog:
    """Answers appends when it is told to."""

    def __init__(self, ledger, monkeypatch):
        self._append = ledger.append
        self.waiting = []  # Answers.
        self.sizes = []
        monkeypatch.setattr(type(ledger), "append", lambda _, *append: self._hold(*append))

    def _hold(self, entries, stored):
        self.sizes.append(len(entries.data))
        self._append(entries, lambda *answer: self.waiting.append((stored, answer)))

    async def answer(self):
        await until(lambda: self.waiting)
        stored, answer = self.waiting.pop(0)
        stored(*answer)


async def test_many_entries_are_appended_before_what_is_before_them_is_answered(
    bench, client_end, make_entry, make_run, monkeypatch
):
    end, log = client_end(), SlowLog(bench.topic.ledger, monkeypatch)
    producer = await bench.topic.attach_producer(end, 1, "p")
    for count in (1, 2, AHEAD_MIN, 3, AHEAD_MIN):
        producer.publish(make_run(*map(make_entry, map(str, range(count)))))
        await asyncio.sleep(0)
    assert log.sizes == [1, 2 + AHEAD_MIN, 3 + AHEAD_MIN]
    assert not end.sent
    producer.publish(make_run(make_entry("last")))
    for _ in range(3):
        assert len(log.sizes) == 3
        await log.answer()
    await log.answer()  # The last one waited for all answers, since it is little.
    firsts = [sent[4] for sent in end.sent]
    assert [sent[2] for sent in end.sent] == [1, 2, AHEAD_MIN, 3, AHEAD_MIN, 1]
    assert firsts == [0, 1, 3, 3 + AHEAD_MIN, 6 + AHEAD_MIN, 6 + 2 * AHEAD_MIN]


async def test_a_failed_append_fails_all_behind_it_in_their_order(
    bench, client_end, make_entry, make_run, monkeypatch
):
    end, log = client_end(), SlowLog(bench.topic.ledger, monkeypatch)
    producer = await bench.topic.attach_producer(end, 1, "p")
    for count in (1, AHEAD_MIN, AHEAD_MIN + 1, 2):
        producer.publish(make_run(*map(make_entry, map(str, range(count)))))
        await asyncio.sleep(0)
    await until(lambda: len(log.waiting) == 3)
    log.waiting[0] = (log.waiting[0][0], (-1, -1, Fenced("the disk is full")))
    for _ in range(3):
        await log.answer()
    assert [sent[:1] + sent[2:3] for sent in end.sent[:4]] == [
        ("errors", 1),
        ("errors", AHEAD_MIN),
        ("errors", AHEAD_MIN + 1),
        ("errors", 2),
    ]
    assert [sent[0] for sent in end.sent[4:]] == ["close_producer"]
    assert bench.failed == [bench.topic]
    await asyncio.wait_for(bench.topic.close(), 10)


async def test_a_name_is_made_up_and_is_unique(bench, client_end):
    one = await bench.topic.attach_producer(client_end(), 1, None)
    two = await bench.topic.attach_producer(client_end(), 1, None)
    assert one.name != two.name


async def test_a_name_in_use_is_refused_while_its_holder_lives(bench, client_end):
    end = client_end()
    await bench.topic.attach_producer(end, 1, "p")
    with pytest.raises(ProducerBusy, match="'p' is already connected to topic 'persistent://"):
        await bench.topic.attach_producer(client_end(), 1, "p")
    end.lives = False
    newcomer = await bench.topic.attach_producer(client_end(), 1, "p")
    assert bench.topic.producers["p"] is newcomer


async def test_of_two_who_wait_for_the_name_of_a_dead_producer_one_gets_it(bench, client_end):
    dying, one, other = client_end(), client_end(), client_end()
    dying.lives = False
    dying.answers.clear()
    await bench.topic.attach_producer(dying, 1, "p")
    first = asyncio.ensure_future(bench.topic.attach_producer(one, 1, "p"))
    second = asyncio.ensure_future(bench.topic.attach_producer(other, 1, "p"))
    await dying.asked.wait()
    await asyncio.sleep(0)
    dying.answers.set()
    winner = await first
    with pytest.raises(ProducerBusy):
        await second
    assert bench.topic.producers["p"] is winner


async def test_a_producer_that_comes_back_with_a_higher_epoch_takes_its_own_place(
    bench, client_end
):
    end = client_end()
    await bench.topic.attach_producer(end, 1, "p", epoch=0)
    with pytest.raises(ProducerBusy):
        await bench.topic.attach_producer(end, 2, "p", epoch=5)
    with pytest.raises(ProducerBusy):
        await bench.topic.attach_producer(end, 1, "p", epoch=0)
    again = await bench.topic.attach_producer(end, 1, "p", epoch=1)
    assert bench.topic.producers["p"] is again


async def test_a_producer_closes_when_all_it_sent_is_answered(
    bench, client_end, make_entry, make_run
):
    end = client_end()
    producer = await bench.topic.attach_producer(end, 1, "p")
    await bench.publish("warm")
    for text in "abc":
        producer.publish(make_run(make_entry(text)))
    await producer.close()
    assert sum(sent[2] for sent in end.sent if sent[0] == "receipts") == 3
    assert "p" not in bench.topic.producers


async def test_a_failed_write_answers_nobody_and_sends_everybody_away(
    bench, client_end, make_entry, make_run
):
    end = client_end()
    producer = await bench.topic.attach_producer(end, 1, "p")
    producer.publish(make_run(make_entry("a")))
    await end.until(lambda e: len(e.sent) == 1)
    await bench.topic.ledger.close()  # From here on every append fails.
    producer.publish(make_run(make_entry("b")))
    await end.until(lambda e: ("close_producer", 1) in e.sent)
    assert [sent[0] for sent in end.sent] == ["receipts", "errors", "close_producer"]
    assert bench.failed == [bench.topic]
    with pytest.raises(TopicClosed):
        await bench.topic.attach_producer(end, 2, "q")


async def test_a_defect_while_writing_sends_everybody_away(bench, client_end, make_entry, make_run):
    sender = client_end()
    producer = await bench.topic.attach_producer(sender, 5, "p")
    run = make_run(make_entry("a"))
    assert not run.traits.unusual
    run.checksums.clear()  # Nobody changes a run that was looked at.
    run.data[0] = None
    producer.publish(run)
    await sender.until(lambda e: ("close_producer", 5) in e.sent)
    assert [sent[0] for sent in sender.sent] == ["errors", "close_producer"]
    assert bench.failed == [bench.topic]
    await producer.close()


async def test_a_defect_in_one_subscription_stops_neither_the_others_nor_who_publishes(
    bench, client_end
):
    class Broken(client_end):
        def send_entries(self, *_, **__):
            raise RuntimeError

    await bench.consumer(EXCLUSIVE, subscription="broken", end=Broken())
    end, _, _ = await bench.consumer(EXCLUSIVE)
    assert (await bench.publish("a"))[0] == "receipts"
    assert (await bench.publish("b"))[0] == "receipts"
    await end.until(lambda e: e.got() == ["a", "b"])


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


async def test_the_last_message_id_counts_within_a_batch(bench, make_entry):
    assert await bench.topic.last_message_id() == (EARLIEST, -1)
    await bench.publish("a")
    position, index = await bench.topic.last_message_id()
    assert (position.entry_id, index) == (0, -1)
    await bench.publish(make_entry("x", batch=4), counts=[4])
    position, index = await bench.topic.last_message_id()
    assert (position.entry_id, index) == (1, 3)


async def test_closing_answers_what_was_sent_and_tells_everybody(
    bench, client_end, make_entry, make_run
):
    end, _, _ = await bench.consumer(EXCLUSIVE)
    sender = client_end()
    producer = await bench.topic.attach_producer(sender, 5, "p")
    producer.publish(make_run(make_entry("a")))
    await bench.topic.close()
    assert [sent[0] for sent in sender.sent] == ["receipts", "close_producer"]
    assert end.sent[-1] == ("close_consumer", 1)
    with pytest.raises(TopicClosed):
        await bench.consumer(EXCLUSIVE)


async def test_nobody_subscribes_to_a_topic_that_closes_meanwhile(bench):
    joining = asyncio.ensure_future(bench.consumer(EXCLUSIVE))
    await asyncio.sleep(0)
    await bench.topic.close()
    with pytest.raises(TopicClosed):
        await joining


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
