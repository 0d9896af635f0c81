"""Sends alone: what is written is caught in a list, and answers are given by hand."""

import asyncio

import pytest
from support.clock import LoopClock
from support.loop import pass_time

from magnetar.client.producers.batching import Batch
from magnetar.client.producers.config import ProducerConfig
from magnetar.client.producers.encoding import Encoder
from magnetar.client.producers.pending import PendingSends
from magnetar.client.producers.sends import Flushes, Sends
from magnetar.client.statistics import Latencies
from magnetar.errors import (
    AlreadyClosed,
    MessageTooLarge,
    NotAllowed,
    NotReady,
    TimedOut,
    UnknownFailure,
)
from magnetar.model.position import MessageId, Position

AT = Position(7, 1)


class Desk:
    """Batches of one message each, numbered from 0."""

    def __init__(self, **options):
        self.pending = PendingSends(messages_max=2, bytes_max=1_000_000)
        self.clock = LoopClock()
        self.config = config = ProducerConfig(**options)
        self.encoder = Encoder(1, config.compression, chunking=False)
        self.encoder.producer_name = "p"
        self.written = []
        self.sends = Sends(
            "t",
            -1,
            config,
            self.encoder,
            self.pending,
            clock=self.clock,
            write=self.written.append,
        )
        self.next_id = 0

    def deadline(self):
        return self.clock.now() + (self.config.send_timeout_s or float("inf"))

    def send(self, payload=b"x"):
        """Send a batch; the future of its message."""
        waiter = asyncio.get_running_loop().create_future()
        batch = Batch(self.next_id, self.deadline(), [payload], size_bytes=len(payload))
        batch.waiters.append((0, 1, waiter))
        self.next_id += 1
        self.pending.admit(1, len(payload))
        self.sends.send_batch(batch)
        return waiter


@pytest.fixture
async def desk():
    return Desk()


async def test_a_receipt_reaches_who_waits_and_makes_room(desk):
    desk.sends.latencies = Latencies()
    first, second = desk.send(), desk.send()
    desk.sends.room.clear()
    assert list(desk.sends.unanswered()) == desk.written
    assert not desk.sends.stored(1, AT), "it has overtaken the first"
    assert desk.sends.stored(0, AT)
    assert first.result() == MessageId(7, 1, -1, 0, 1)
    assert not second.done()
    assert desk.sends.room.is_set()
    assert desk.sends.last_sequence_id == 0
    assert list(desk.sends.unanswered()) == desk.written[1:]
    assert desk.sends.stored(0, AT), "it comes again after a reconnection"


async def test_what_cannot_be_sent_is_told_and_gives_its_room_back(desk):
    desk.sends.size_max = 10
    with pytest.raises(MessageTooLarge):
        await desk.send(b"x" * 100)
    desk.encoder.batch = None  # A mistake of ours.
    with pytest.raises(UnknownFailure, match="1 messages to t could not be encoded"):
        await desk.send()
    assert (desk.written, desk.pending.messages, desk.pending.size_bytes) == ([], 0, 0)
    desk.sends.raise_unreported()


async def test_one_without_a_receipt_is_given_up_and_says_the_last_trouble():
    desk = Desk(send_timeout_s=30)
    first = desk.send()
    await pass_time(20)
    second = desk.send()
    desk.sends.trouble = NotReady("the broker starts")
    await pass_time(11)
    with pytest.raises(TimedOut, match=r"within 30 s.*the last error was: the broker starts"):
        await first
    assert not second.done()
    await pass_time(20)
    assert isinstance(second.exception(), TimedOut)


async def test_a_flush_waits_for_what_was_sent_before_and_has_its_first_error(desk):
    flush = desk.sends.flush()
    first = desk.send()
    settled = asyncio.ensure_future(desk.sends.settled(flush))
    await asyncio.sleep(0)
    second = desk.send()
    refusal = NotAllowed("no")
    desk.sends.refused(0, refusal)
    assert await settled is refusal
    assert first.exception() is refusal
    assert not second.done()


async def test_the_first_error_that_nobody_was_told_is_raised_once(desk):
    desk.send().cancel()
    desk.sends.fail(None, NotReady("full"))
    desk.sends.refused(0, NotAllowed("no"))
    with pytest.raises(NotReady):
        desk.sends.raise_unreported()
    desk.sends.raise_unreported()
    with pytest.raises(NotAllowed):
        desk.sends.raise_unreported(NotAllowed("this one"))


async def test_the_end_fails_all_and_lets_go_who_waits_for_room(desk):
    waiters = [desk.send(), desk.send()]
    desk.sends.room.clear()
    closed = AlreadyClosed("closed")
    desk.sends.fail_all(closed)
    assert [waiter.exception() for waiter in waiters] == [closed, closed]
    assert desk.sends.room.is_set()
    await pass_time(100)  # No timer is left.


async def test_a_flush_ends_with_the_last_send_that_it_waits_for_and_has_their_first_error():
    flushes = Flushes(asyncio.get_running_loop())
    early, late = flushes.begin(), flushes.begin()
    first, second = NotAllowed("first"), NotAllowed("second")
    flushes.failed(1, first)
    early.until, late.until = 1, 3
    flushes.failed(2, second)
    flushes.settled(0)
    assert not early.settled.done()
    flushes.settled(2)
    assert (early.settled.done(), early.error) == (True, first)
    assert (late.settled.done(), late.error) == (False, first)
    late.settled.cancel()
    flushes.settled(3)
    flushes.settled(4)
