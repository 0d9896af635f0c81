import asyncio

import pytest
from support.clock import ManualClock
from support.loop import pass_time, until
from unit.client.peer import hang_up

from magnetar.client.connections.attachment import STABLE_S, Attachment
from magnetar.client.connections.backoff import Backoff
from magnetar.clock import SystemClock
from magnetar.errors import (
    AlreadyClosed,
    ConnectionLost,
    ConsumerBusy,
    NotReady,
    TimedOut,
    TopicNotFound,
    UnknownFailure,
)
from magnetar.wire.commands import BaseCommand

TOPIC = "persistent://public/default/t"


class Owner:
    """Attaches as it is told, and remembers to what."""

    def __init__(self, lookup, clock=None):
        self.attached = []
        self.refusals = []
        self.failure = None
        self.attempts = []  # The errors of those that failed after it was attached once.
        self.then = None  # What happens while it is being attached.
        self.attachment = Attachment(
            TOPIC,
            self.attach,
            self.not_attached,
            lookup=lookup,
            backoff=Backoff(lambda: 0.0, first_s=0.001, max_s=1.0),
            clock=clock or SystemClock(),
            owner="the test",
        )

    async def attach(self, connection):
        if self.refusals:
            raise self.refusals.pop(0)
        self.attached.append(connection)
        if self.then is not None:
            await self.then(connection)

    def not_attached(self, error, *, final):
        if final:
            self.failure = error
        else:
            self.attempts.append(error)


@pytest.fixture
async def owner(lookup):
    owner = Owner(lookup)
    yield owner
    await owner.attachment.close("the test is over")


async def test_it_attaches_where_the_lookup_says(owner):
    await owner.attachment.start(5)
    assert owner.attachment.connection is owner.attached[0]
    assert await owner.attachment.attached() is owner.attached[0]


async def test_the_first_attempt_is_repeated_while_it_may_help(peer, owner):
    owner.refusals = [NotReady("1"), NotReady("2")]
    peer.script(BaseCommand.LOOKUP, hang_up)
    await owner.attachment.start(5)
    assert len(owner.attached) == 1


async def test_it_comes_back_when_the_connection_is_lost(owner):
    await owner.attachment.start(5)
    owner.refusals = [NotReady("1"), ConsumerBusy("your old self")]
    owner.attachment.lost(owner.attached[0])
    assert owner.attachment.connection is None
    assert await asyncio.wait_for(owner.attachment.attached(), 5) is owner.attached[1]


async def test_only_an_attachment_that_lasted_starts_the_delays_over(lookup):
    clock = ManualClock()
    owner = Owner(lookup, clock)
    await owner.attachment.start(5)

    async def comes_back_after(delay_s):
        owner.attachment.lost(owner.attached[-1])
        await clock.advance(delay_s * 0.9)
        assert owner.attachment.connection is None
        await clock.advance(delay_s * 0.2)
        assert owner.attachment.connection is owner.attached[-1]

    for delay_s in (0.001, 0.002, 0.004):
        await comes_back_after(delay_s)
    await clock.advance(STABLE_S)
    await comes_back_after(0.001)
    await owner.attachment.close("the test is over")


async def test_who_loses_its_broker_every_few_seconds_does_not_wait_longer_each_time(lookup):
    clock = ManualClock()
    owner = Owner(lookup, clock)
    await owner.attachment.start(5)
    for _ in range(20):
        await clock.advance(3)
        owner.attachment.lost(owner.attached[-1])
        await clock.advance(0.0011)
        assert owner.attachment.connection is owner.attached[-1]
    await owner.attachment.close("the test is over")


async def test_who_is_told_that_the_topic_moved_goes_there_at_once(lookup):
    clock = ManualClock()
    owner = Owner(lookup, clock)
    await owner.attachment.start(5)
    for _ in range(20):
        owner.attachment.lost(owner.attached[-1], moved=True)
        assert await owner.attachment.attached() is owner.attached[-1]
    assert clock.now() == ManualClock().now()
    await owner.attachment.close("the test is over")


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
    owner.refusals = [NotReady("not yet"), TopicNotFound("deleted")]
    owner.attachment.lost(owner.attached[0])
    await until(lambda: owner.failure is not None)
    assert [str(error) for error in owner.attempts] == ["not yet"]
    assert isinstance(owner.failure, TopicNotFound)
    with pytest.raises(TopicNotFound, match="deleted"):
        await owner.attachment.attached()


async def test_a_mistake_of_ours_ends_it_and_is_told(owner, caplog):
    await owner.attachment.start(5)
    owner.refusals = [ValueError("a bug")]
    owner.attachment.lost(owner.attached[0])
    await until(lambda: owner.failure is not None)
    with pytest.raises(UnknownFailure, match="a bug"):
        await owner.attachment.attached()
    await owner.attachment.close("done")
    assert "task.failed" in caplog.text


async def test_being_thrown_out_while_attaching_means_trying_again(owner):
    async def throw_out_once(connection):
        if len(owner.attached) == 1:
            owner.attachment.lost(connection)

    owner.then = throw_out_once
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
    owner.then = lambda _: owner.attachment.close("it is closed")
    with pytest.raises(AlreadyClosed, match="it is closed"):
        await owner.attachment.start(5)
    assert owner.attachment.connection is None


async def test_closing_ends_every_attempt_and_wakes_who_waits(owner):
    await owner.attachment.start(5)
    owner.refusals = [NotReady("1")] * 10_000
    owner.attachment.lost(owner.attached[0])
    waiting = asyncio.ensure_future(owner.attachment.attached())
    await until(lambda: len(owner.refusals) < 9_999)
    await owner.attachment.close("it is closed")
    with pytest.raises(AlreadyClosed, match="it is closed"):
        await waiting
    left = len(owner.refusals)
    owner.attachment.lost(owner.attached[0])
    await pass_time(1)
    assert len(owner.refusals) == left


async def test_a_broker_that_has_let_the_owner_go_is_asked_again(owner):
    """Its refusal came behind the word that it serves the owner no longer."""
    await owner.attachment.start(5)
    asked = []

    async def let_go_once(connection):
        asked.append(connection)
        if len(asked) == 1:
            owner.attachment.lost(connection)
            raise NotReady("Consumer not found")
        return "answer"

    assert await owner.attachment.ask(let_go_once, 60) == "answer"

    async def refuse(_connection):
        raise NotReady("no")

    with pytest.raises(NotReady, match="no"):
        await owner.attachment.ask(refuse, 60)


async def test_who_asks_a_broker_that_is_away_hears_why(owner):
    await owner.attachment.start(5)

    async def lose(connection):
        owner.refusals = [NotReady("the broker is away")] * 10_000
        owner.attachment.lost(connection)
        raise ConnectionLost("it hung up")

    asking = asyncio.create_task(owner.attachment.ask(lose, 60))
    await until(lambda: owner.refusals)
    await pass_time(60)
    with pytest.raises(TimedOut, match="did not answer within 60 s: the broker is away"):
        await asking
