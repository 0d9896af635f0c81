"""What is published, as it happens; over a topic in memory and a clock that the test moves."""

import json

import pytest
from support.clock import ManualClock
from unit.broker.admin.messages.entries import batch_of, entry_of
from unit.storage.managed_ledger.logs import append

from magnetar.broker.admin.messages import tail
from magnetar.broker.admin.messages.message_filter import MessageFilter
from magnetar.broker.admin.messages.shown import ShownMessages
from magnetar.broker.admin.messages.tail import BEHIND_MAX, Tail
from magnetar.broker.admin.messages.work import LISTENERS_MAX, MessageWork
from magnetar.errors import CorruptEntry
from magnetar.message.entry_traits import EntryTraits
from magnetar.rest.errors import Rejection

NAME = "persistent://public/default/x"


@pytest.fixture
async def topic(world):
    return await world.topic(NAME)


@pytest.fixture
def clock(monkeypatch):
    manual = ManualClock()

    async def sleep(seconds):
        manual.move(seconds)

    monkeypatch.setattr(manual, "sleep", sleep)
    return manual


@pytest.fixture
def work():
    return MessageWork()


@pytest.fixture
async def told(world, topic, clock, work):
    found = Tail(
        work,
        lambda: {topic.name: topic.log},
        lambda name: ShownMessages(name, world.admin.topics.schema_registry),
        MessageFilter(),
        clock,
    )
    assert events(await anext(found)) == [("began", {"topics": [NAME]})]
    yield found
    await found.aclose()
    await found.aclose()
    assert not work.listeners


def events(piece):
    found = []
    for block in piece.decode().split("\n\n")[:-1]:
        name, _, data = block.partition("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def values(piece):
    return [shown["value"] for name, shown in events(piece) if name == "message"]


async def publish(topic, *entries):
    await append(topic.ledger, list(entries), EntryTraits([1] * len(entries)))


async def test_messages_are_told_once_and_in_order(topic, told):
    await publish(topic, entry_of(b"0"), batch_of(b"1", b"2"))
    assert values(await anext(told)) == ["0", "1", "2"]
    await publish(topic, entry_of(b"3"))
    assert values(await anext(told)) == ["3"]


async def test_who_falls_behind_is_told_what_it_missed(topic, told):
    await publish(topic, *[entry_of(b"x")] * (BEHIND_MAX + 5))
    piece = await anext(told)
    assert events(piece)[0] == ("missed", {"topic": NAME, "entries": 5})
    assert len(values(piece)) == BEHIND_MAX


async def test_a_look_tells_so_many_bytes(topic, told, monkeypatch):
    monkeypatch.setattr(tail, "TOLD_BYTES_MAX", 1)
    await publish(topic, entry_of(b"0"), entry_of(b"1"))
    assert values(await anext(told)) == ["0"]
    assert values(await anext(told)) == ["1"]


async def test_silence_is_broken_by_a_comment(told):
    assert await anext(told) == b": keep-alive\n\n"


async def test_it_ends_so_that_whoever_listens_must_ask_again(told, monkeypatch):
    monkeypatch.setattr(tail, "KEEP_ALIVE_S", 10**6)
    with pytest.raises(StopAsyncIteration):
        await anext(told)


async def test_what_cannot_be_read_is_said_and_passed_over(topic, told, monkeypatch):
    await publish(topic, entry_of(b"0"))

    async def damaged(*_):
        raise CorruptEntry("entry 0 of ledger 1 is damaged")

    with monkeypatch.context() as patch:
        patch.setattr(type(topic.ledger), "read_uncached", damaged)
        said = events(await anext(told))
    assert said == [("unreadable", {"topic": NAME, "reason": "entry 0 of ledger 1 is damaged"})]
    await publish(topic, entry_of(b"1"))
    assert values(await anext(told)) == ["1"]


def test_so_many_may_listen(work):
    leave = [work.listen() for _ in range(LISTENERS_MAX)]
    with pytest.raises(Rejection, match="which is the most"):
        work.listen()
    leave[0]()
    work.listen()
