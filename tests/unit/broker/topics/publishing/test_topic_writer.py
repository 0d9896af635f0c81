"""What is published: appended, answered, and what happens when a write fails."""

import asyncio

import pytest
from support.loop import until

from magnetar.broker.topics.publishing.topic_writer import AHEAD_MIN
from magnetar.errors import (
    Fenced,
    TopicClosed,
)
from magnetar.model.subscriptions import SubscriptionType
from magnetar.storage.managed_ledger.managed_ledger import ManagedLedger

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
    run.data[0], run.usual = None, True
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


class Observer:
    """Lets every send through but one, and notes what it is told."""

    def __init__(self, told, known):
        self._told = told
        self._known = known

    def before_append(self, producer, run):
        self._told.append(("before", self._known, list(run.data)))
        return {i: True for i, each in enumerate(run.data) if each == self._known}

    def after_append(self, runs, last):
        stored = [entry for _, run in runs for entry in run.data]
        self._told.append(("after", self._known, stored, last.entry_id))


async def test_observers_are_asked_before_an_append_and_told_after_it(
    bench, client_end, make_entry, make_run
):
    end, told = client_end(), []
    a, b, c, d = map(make_entry, "abcd")
    bench.topic.writer.observers = (Observer(told, b), Observer(told, c))
    producer = await bench.topic.attach_producer(end, 1, "p")
    producer.publish(make_run(a, b, c, d))
    await producer.close()
    assert told == [
        ("before", b, [a, b, c, d]),
        ("before", c, [a]),
        ("before", c, [c, d]),
        ("after", b, [a, d], 1),
        ("after", c, [a, d], 1),
    ]
    assert [sent[0] for sent in end.sent] == ["receipts", "unstored", "unstored", "receipts"]
