import asyncio

import pytest
from support.loop import pass_time, until
from unit.client.peer import hang_up

from magnetar.client import attachment as room
from magnetar.client.attachment import Attachment, worth_retrying
from magnetar.client.backoff import Backoff
from magnetar.clock import SystemClock
from magnetar.errors import (
    ConnectionLost,
    ConsumerBusy,
    NotAllowed,
    NotAuthorized,
    NotReady,
    ProducerBusy,
    TopicNotFound,
    UnknownFailure,
    WriteFailed,
)
from magnetar.wire.commands import BaseCommand

TOPIC = "persistent://public/default/t"


class Owner:
    """Attaches as it is told, and remembers to what."""

    def __init__(self, client):
        self.attached = []
        self.refusals = []
        self.failure = None
        self.attachment = Attachment(
            TOPIC,
            self.attach,
            self.failed,
            lookup=client._lookup,
            backoff=Backoff(lambda: 0.0, first_s=0.001),
            clock=SystemClock(),
            owner="the test",
        )

    async def attach(self, connection):
        if self.refusals:
            raise self.refusals.pop(0)
        self.attached.append(connection)

    def failed(self, error):
        self.failure = error

    async def until(self, true):
        await until(true)


@pytest.fixture
async def owner(client):
    owner = Owner(client)
    yield owner
    await owner.attachment.close("the test is over")


@pytest.mark.parametrize("error", [NotReady, ConnectionLost, WriteFailed, UnknownFailure])
def test_what_may_pass_is_tried_again(error):
    assert worth_retrying(error("x"), attached_before=False)
    assert worth_retrying(error("x"), attached_before=True)


@pytest.mark.parametrize("error", [NotAuthorized, TopicNotFound, NotAllowed])
def test_what_will_not_pass_is_not(error):
    assert not worth_retrying(error("x"), attached_before=False)
    assert not worth_retrying(error("x"), attached_before=True)


@pytest.mark.parametrize("error", [ProducerBusy, ConsumerBusy])
def test_who_was_attached_waits_for_its_own_last_connection_to_be_given_up(error):
    assert not worth_retrying(error("x"), attached_before=False)
    assert worth_retrying(error("x"), attached_before=True)


async def test_it_attaches_where_the_lookup_says(owner):
    await owner.attachment.start(5)
    assert owner.attachment.connection is owner.attached[0]
    assert await owner.attachment.attached() is owner.attached[0]


async def test_the_first_attempt_is_repeated_while_it_may_help(peer, owner):
    owner.refusals = [NotReady("1"), NotReady("2")]
    peer.script(BaseCommand.LOOKUP, hang_up)
    await owner.attachment.start(5)
    assert len(owner.attached) == 1


async def test_the_first_attempt_ends_with_what_never_helps(owner):
    owner.refusals = [NotReady("1"), ProducerBusy("taken")]
    with pytest.raises(ProducerBusy, match="taken"):
        await owner.attachment.start(5)


async def test_the_first_attempt_ends_with_its_time(owner):
    owner.refusals = [NotReady("again and again")] * 1000
    with pytest.raises(NotReady, match="again and again"):
        await owner.attachment.start(0.05)


async def test_it_comes_back_when_the_connection_is_lost(owner):
    await owner.attachment.start(5)
    owner.refusals = [NotReady("1"), ConsumerBusy("your old self")]
    owner.attachment.lost(owner.attached[0])
    assert owner.attachment.connection is None
    assert await asyncio.wait_for(owner.attachment.attached(), 5) is owner.attached[1]


async def test_only_an_attachment_that_lasted_starts_the_delays_over(owner, monkeypatch):
    await owner.attachment.start(5)
    backoff = owner.attachment._backoff
    for _ in range(3):
        owner.attachment.lost(owner.attached[-1])
        await asyncio.wait_for(owner.attachment.attached(), 5)
    assert backoff.next_s() == 0.008
    monkeypatch.setattr(room, "STABLE_S", 0.0)
    owner.attachment.lost(owner.attached[-1])
    await asyncio.wait_for(owner.attachment.attached(), 5)
    assert backoff.next_s() == 0.002


async def test_news_of_an_old_connection_changes_nothing(owner):
    await owner.attachment.start(5)
    old = owner.attached[0]
    owner.attachment.lost(old)
    old.abort(ConnectionLost("gone"))
    new = await owner.attachment.attached()
    owner.attachment.lost(old)
    assert owner.attachment.connection is new


async def test_it_gives_up_when_the_broker_says_never(owner):
    await owner.attachment.start(5)
    owner.refusals = [TopicNotFound("deleted")]
    owner.attachment.lost(owner.attached[0])
    await owner.until(lambda: owner.failure is not None)
    assert isinstance(owner.failure, TopicNotFound)
    with pytest.raises(TopicNotFound, match="deleted"):
        await owner.attachment.attached()


async def test_a_mistake_of_ours_ends_it_and_is_told(owner, caplog):
    await owner.attachment.start(5)
    owner.refusals = [ValueError("a bug")]
    owner.attachment.lost(owner.attached[0])
    await owner.until(lambda: owner.failure is not None)
    with pytest.raises(UnknownFailure, match="a bug"):
        await owner.attachment.attached()
    await owner.attachment.close("done")
    assert "task.failed" in caplog.text


async def test_being_thrown_out_while_attaching_means_trying_again(owner):
    original = owner.attach
    times = []

    async def attach(connection):
        await original(connection)
        times.append(1)
        if len(times) == 1:
            owner.attachment.lost(connection)

    owner.attachment._attach = attach
    await owner.attachment.start(5)
    assert len(owner.attached) == 2


async def test_while_held_it_stays_away(owner):
    await owner.attachment.start(5)
    owner.attachment.hold()
    owner.attachment.lost(owner.attached[0])
    waiting = asyncio.ensure_future(owner.attachment.attached())
    await pass_time(1)
    assert not waiting.done()
    assert len(owner.attached) == 1
    owner.attachment.release()
    assert await asyncio.wait_for(waiting, 5) is owner.attached[1]


async def test_two_that_hold_at_the_same_time_attach_once(owner):
    await owner.attachment.start(5)
    owner.attachment.hold()
    owner.attachment.hold()
    owner.attachment.lost(owner.attached[0])
    owner.attachment.release()
    owner.attachment.release()
    await asyncio.wait_for(owner.attachment.attached(), 5)
    owner.attachment.release()
    assert len(owner.attached) == 2


async def test_one_that_is_closed_while_it_attaches_is_not_attached(owner):
    original = owner.attach

    async def attach(connection):
        await original(connection)
        await owner.attachment.close("it is closed")

    owner.attachment._attach = attach
    with pytest.raises(NotAllowed, match="it is closed"):
        await owner.attachment.start(5)
    assert owner.attachment.connection is None


async def test_closing_ends_every_attempt_and_wakes_who_waits(owner):
    await owner.attachment.start(5)
    owner.refusals = [NotReady("1")] * 10_000
    owner.attachment.lost(owner.attached[0])
    waiting = asyncio.ensure_future(owner.attachment.attached())
    await owner.until(lambda: len(owner.refusals) < 9_999)
    await owner.attachment.close("it is closed")
    with pytest.raises(NotAllowed, match="it is closed"):
        await waiting
    left = len(owner.refusals)
    owner.attachment.lost(owner.attached[0])
    await pass_time(1)
    assert len(owner.refusals) == left
