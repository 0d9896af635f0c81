"""The queue alone: what goes out is caught in a list, and answers are given by hand."""

import asyncio
import random
from contextlib import suppress

import pytest
from support.clock import LoopClock
from support.loop import pass_time, until_idle

from magnetar.client.memory_limit import MemoryLimit
from magnetar.client.outgoing_message import OutgoingMessage
from magnetar.client.producers.batching import PackedBatch
from magnetar.client.producers.config import ProducerConfig
from magnetar.client.producers.encoding import Encoder
from magnetar.client.producers.receipts import ManyReceipts
from magnetar.client.producers.send_queue import SendQueue
from magnetar.errors import InvalidValue, MessageTooLarge, NotAllowed, NotReady, TimedOut
from magnetar.message.batch import pack, parse_single, unpack
from magnetar.message.metadata import parse
from magnetar.model.position import ChunkedMessageId, MessageId, Position
from magnetar.wire.frames import FrameDecoder

AT = Position(7, 1)


class Desk:
    """A queue and what came out of it."""

    def __init__(self, memory=None, **options):
        config = ProducerConfig(**{"batch_delay_s": 60.0, **options})
        encoder = Encoder(1, config.compression, chunking=config.chunking)
        encoder.producer_name = "p"
        self.frames = []
        self.queue = SendQueue(
            "t", -1, config, encoder, clock=LoopClock(), write=self.frames.append, memory=memory
        )

    @property
    def sent(self):
        """Of each frame: its first sequence id, and its messages."""
        found = []
        for pieces in self.frames:
            [run] = FrameDecoder().feed(b"".join(pieces))
            metadata = parse(run.data[0])
            payload = run.data[0][metadata.payload_start :]
            messages = (
                unpack(payload, metadata.message_count)[1] if metadata.is_batch else [payload]
            )
            found.append((metadata.sequence_id, messages))
        return found

    def put(self, *payloads, waiter=None):
        for payload in payloads:
            self.queue.put(payload, None, waiter)

    async def put_many(self, messages):
        receipts = ManyReceipts()
        await self.queue.put_many(messages, receipts)
        self.queue.close_batches()
        return asyncio.ensure_future(receipts.ids())


@pytest.fixture
async def desk():
    return Desk()


def future():
    return asyncio.get_running_loop().create_future()


async def test_a_batch_leaves_when_it_has_enough_messages():
    desk = Desk(batch_messages_max=3)
    desk.put(*[b"%d" % n for n in range(7)])
    assert desk.sent == [(0, [b"0", b"1", b"2"]), (3, [b"3", b"4", b"5"])]
    desk.queue.close_batches()
    assert desk.sent[2] == (6, [b"6"])


async def test_a_batch_leaves_when_it_has_enough_bytes():
    desk = Desk(batch_bytes_max=10)
    desk.put(b"aaaa", b"bbbb", b"cccc", b"dddddd", b"e")
    assert desk.sent == [(0, [b"aaaa", b"bbbb"]), (2, [b"cccc", b"dddddd"])]


async def test_a_batch_leaves_when_its_first_message_has_waited_long_enough():
    desk = Desk(batch_delay_s=0.01)
    desk.put(b"0")
    assert desk.sent == []
    await until_idle()
    desk.put(b"1")
    await pass_time(0.01)
    assert desk.sent == [(0, [b"0", b"1"])]


async def test_a_message_too_big_for_a_batch_goes_alone_and_in_order():
    desk = Desk(batch_bytes_max=10)
    desk.put(b"a", b"b" * 10, b"c")
    desk.queue.close_batches()
    assert desk.sent == [(0, [b"a"]), (1, [b"b" * 10]), (2, [b"c"])]


async def test_a_delayed_message_goes_alone_and_in_order():
    desk = Desk()
    desk.put(b"a")
    desk.queue.put(b"b", OutgoingMessage(b"b", deliver_after_s=1), None)
    desk.put(b"c")
    desk.queue.close_batches()
    assert desk.sent == [(0, [b"a"]), (1, [b"b"]), (2, [b"c"])]


async def test_without_batching_every_message_is_an_entry():
    desk = Desk(batching=False)
    desk.put(b"a", b"b")
    assert desk.sent == [(0, [b"a"]), (1, [b"b"])]


async def test_batches_by_key_do_not_mix():
    desk = Desk(batch_by_key=True, batch_messages_max=4)
    for key in ("a", "b", "a", None):
        desk.queue.put(b"x", OutgoingMessage(b"x", key=key), None)
    assert [(first, len(messages)) for first, messages in desk.sent] == [(0, 2), (2, 1), (3, 1)]
    [run] = FrameDecoder().feed(b"".join(desk.frames[0]))
    metadata = parse(run.data[0])
    heads, _ = unpack(run.data[0][metadata.payload_start :], 2)
    assert [parse_single(head).sequence_id for head in heads] == [0, 1]
    assert run.highest == [1]
    assert metadata.key == "a"


async def test_numbers_the_application_chose_are_kept_inside_a_batch(desk):
    desk.put(b"0")
    desk.queue.put(b"10", OutgoingMessage(b"10", sequence_id=10), None)
    desk.put(b"11")
    desk.queue.close_batches()
    [run] = FrameDecoder().feed(b"".join(desk.frames[0]))
    metadata = parse(run.data[0])
    heads, _ = unpack(run.data[0][metadata.payload_start :], 3)
    assert [parse_single(head).sequence_id for head in heads] == [0, 10, 11]
    assert run.highest == [11]
    assert desk.queue.next_sequence_id == 12


async def test_receipts_reach_who_waits(desk):
    waiters = [future(), future()]
    for waiter in waiters:
        desk.put(b"x", waiter=waiter)
    desk.put(b"y")
    desk.queue.close_batches()
    assert desk.queue.sends.stored(0, AT)
    assert [waiter.result() for waiter in waiters] == [
        MessageId(7, 1, -1, 0, 3),
        MessageId(7, 1, -1, 1, 3),
    ]
    assert desk.queue.sends.last_sequence_id == 2


async def test_a_cancelled_waiter_disturbs_nobody(desk):
    waiters = [future(), future()]
    for waiter in waiters:
        desk.put(b"x", waiter=waiter)
    desk.queue.close_batches()
    waiters[0].cancel()
    assert desk.queue.sends.stored(0, AT)
    assert waiters[1].result().batch_index == 1


async def test_many_messages_make_full_batches_and_one_list_of_ids():
    desk = Desk(batch_messages_max=4, batch_bytes_max=100)
    ids = await desk.put_many([b"%d" % n for n in range(10)])
    assert [len(messages) for _, messages in desk.sent] == [4, 4, 2]
    for entry, first in enumerate((0, 4, 8)):
        desk.queue.sends.stored(first, Position(7, entry))
    found = await ids
    assert [(i.entry_id, i.batch_index) for i in found] == [(n // 4, n % 4) for n in range(10)]


async def test_many_join_an_open_batch_and_respect_its_size():
    desk = Desk(batch_bytes_max=10)
    desk.put(b"aaaa")
    await desk.put_many([b"bbbb", b"cccc", b"d" * 30, b"", b"e"])
    assert desk.sent == [
        (0, [b"aaaa", b"bbbb"]),
        (2, [b"cccc"]),
        (3, [b"d" * 30]),
        (4, [b"", b"e"]),
    ]


async def test_many_of_all_kinds():
    desk = Desk()
    ids = await desk.put_many([b"a", OutgoingMessage(b"b", key="k"), b"c"])
    assert desk.sent == [(0, [b"a", b"b", b"c"])]
    desk.queue.sends.stored(0, AT)
    assert [found.batch_index for found in await ids] == [0, 1, 2]


async def test_after_numbers_of_its_own_a_run_begins_a_batch_of_its_own(desk):
    desk.queue.put(b"5", OutgoingMessage(b"5", sequence_id=5), None)
    await desk.put_many([b"6", b"7"])
    desk.queue.put(b"20", OutgoingMessage(b"20", sequence_id=20), None)
    desk.queue.put(b"30", OutgoingMessage(b"30", sequence_id=30), None)
    await desk.put_many([b"31"])
    assert desk.sent == [(5, [b"5", b"6", b"7"]), (20, [b"20", b"30"]), (31, [b"31"])]


async def test_a_full_queue_refuses_one_and_makes_many_wait():
    desk = Desk(max_pending_messages=3, batch_messages_max=2)
    desk.put(b"0", b"1", b"2")
    assert desk.queue.full
    with pytest.raises(NotReady, match=r"await ready\(\)"):
        desk.put(b"3")
    many = asyncio.ensure_future(desk.put_many([b"3", b"4"]))
    ready = asyncio.ensure_future(desk.queue.ready())
    await asyncio.sleep(0)
    assert [first for first, _ in desk.sent] == [0, 2], "the open batch leaves: it must end"
    assert not ready.done()
    desk.queue.sends.stored(0, AT)
    ids = await many
    assert not ready.done(), "the many were there first, and filled it again"
    desk.queue.sends.stored(2, AT)
    await ready
    desk.queue.sends.stored(3, AT)
    assert len(await ids) == 2
    assert not desk.queue.full


def packed(*payloads, first):
    return PackedBatch(pack([*payloads], first_sequence_id=first), len(payloads), first, 10)


async def test_packed_batches_keep_their_numbers_and_their_place():
    desk = Desk(max_pending_messages=3)
    desk.put(b"0")
    many = asyncio.ensure_future(
        desk.queue.put_packed([packed(b"a", b"b", first=1 << 40), packed(b"c", first=1 << 41)])
    )
    await asyncio.sleep(0)
    assert desk.sent == [(0, [b"0"]), (1 << 40, [b"a", b"b"])]
    assert not many.done(), "the queue is full"
    desk.queue.sends.stored(0, AT)
    await many
    desk.queue.sends.stored(1 << 40, AT)
    desk.put(b"d")
    desk.queue.close_batches()
    assert desk.sent[2:] == [(1 << 41, [b"c"]), ((1 << 41) + 1, [b"d"])]
    assert list(desk.queue.sends.unanswered()) == desk.frames[2:]
    flushed = asyncio.ensure_future(desk.queue.flush())
    for number in (1 << 41, (1 << 41) + 1):
        assert not flushed.done()
        desk.queue.sends.stored(number, AT)
    await flushed
    assert desk.queue.sends.last_sequence_id == (1 << 41) + 1
    assert desk.queue.pending.size_bytes == 0


async def test_after_a_packed_batch_that_failed_no_other_is_sent():
    desk = Desk()
    desk.queue.sends.size_max = 100
    with pytest.raises(MessageTooLarge):
        await desk.queue.put_packed([packed(b"x" * 100, first=0), packed(b"y", first=1)])
    assert not desk.frames
    await desk.queue.flush()  # It has been told.
    await desk.queue.put_packed([packed(b"z", first=5)])
    desk.queue.sends.refused(5, NotAllowed("no"))
    with pytest.raises(NotAllowed):
        await desk.queue.put_packed([packed(b"z", first=6)])
    desk.queue.fail_all(NotAllowed("the end"))
    with pytest.raises(NotAllowed, match="the end"):
        await desk.queue.put_packed([packed(b"z", first=6)])


async def test_bytes_fill_the_queue_too():
    desk = Desk(max_pending_bytes=10)
    desk.put(b"x" * 9)
    assert not desk.queue.full
    desk.put(b"x" * 9)
    assert desk.queue.full


async def test_what_is_wrong_with_a_message_is_said_at_once():
    desk = Desk(batching=False)
    desk.queue.sends.size_max = 100
    with pytest.raises(MessageTooLarge):
        desk.put(b"x" * 101)
    with pytest.raises(InvalidValue, match="not str"):
        desk.put("text")
    assert desk.queue.next_sequence_id == 0
    desk.put(b"x")
    assert desk.sent == [(0, [b"x"])]


async def test_what_is_wrong_with_one_of_many_is_said_when_all_are_settled():
    desk = Desk(batching=False)
    desk.queue.sends.size_max = 100
    ids = await desk.put_many([b"a", b"x" * 101, b"b"])
    desk.queue.sends.stored(0, AT)
    await asyncio.sleep(0)
    assert not ids.done()
    desk.queue.sends.stored(1, AT)
    with pytest.raises(MessageTooLarge):
        await ids


async def test_a_batch_that_cannot_be_sent_fails_its_messages():
    desk = Desk(batch_bytes_max=1000)
    desk.queue.sends.size_max = 100
    waiter = future()
    desk.put(b"x" * 90, waiter=waiter)
    desk.put(b"y" * 90)
    desk.queue.close_batches()
    with pytest.raises(MessageTooLarge):
        await waiter
    with pytest.raises(MessageTooLarge):
        await desk.queue.flush()
    assert not desk.frames


async def test_a_message_without_receipt_is_given_up_in_time():
    desk = Desk(send_timeout_s=30, batching=False)
    first, second = future(), future()
    desk.put(b"0", waiter=first)
    await pass_time(20)
    desk.put(b"1", waiter=second)
    await pass_time(11)
    with pytest.raises(TimedOut, match="no receipt"):
        await first
    assert not second.done()
    assert desk.queue.sends.stored(0, AT), "its receipt may still come"
    await pass_time(20)
    with pytest.raises(TimedOut):
        await second


async def test_without_a_timeout_nothing_is_given_up():
    desk = Desk(send_timeout_s=0, batching=False)
    receipt = future()
    desk.put(b"0", waiter=receipt)
    await asyncio.sleep(0.05)
    assert not receipt.done()


async def test_errors_nobody_waits_for_are_reported_once(desk):
    desk.put(b"0")
    desk.queue.close_batches()
    desk.queue.sends.refused(0, NotAllowed("no"))
    with pytest.raises(NotAllowed, match="no"):
        await desk.queue.flush()
    await desk.queue.flush()


async def test_errors_somebody_was_told_are_not_reported(desk):
    waiter = future()
    desk.put(b"0", waiter=waiter)
    desk.queue.close_batches()
    desk.queue.sends.refused(0, NotAllowed("no"))
    await desk.queue.flush()
    with pytest.raises(NotAllowed):
        await waiter


async def test_settled_waits_for_what_was_put_before_and_no_longer(desk):
    desk.put(b"0")
    waiting = asyncio.ensure_future(desk.queue.settled())
    await asyncio.sleep(0)
    desk.put(b"1")
    desk.queue.close_batches()
    assert not waiting.done()
    desk.queue.sends.stored(0, AT)
    await waiting
    await asyncio.gather(desk.queue.settled(), asyncio.sleep(0, desk.queue.sends.stored(1, AT)))


async def test_settled_at_once_when_there_is_nothing(desk):
    await desk.queue.settled()


async def test_a_chunked_message_has_one_receipt_and_both_its_ends():
    desk = Desk(batching=False, chunking=True)
    desk.queue.sends.size_max = 1000
    waiter = future()
    desk.put(b"x" * 2000, waiter=waiter)
    assert len(desk.frames) == 3
    for entry in range(3):
        assert not waiter.done()
        assert desk.queue.sends.stored(0, Position(7, entry))
    assert waiter.result() == ChunkedMessageId.of(7, 2, -1, first_chunk=Position(7, 0))


async def test_a_receipt_ahead_of_the_oldest_is_an_error(desk):
    desk.put(b"0")
    desk.queue.close_batches()
    desk.put(b"1")
    desk.queue.close_batches()
    assert not desk.queue.sends.stored(1, AT)
    assert desk.queue.sends.stored(0, AT)


async def test_everything_unanswered_can_be_sent_again(desk):
    desk.put(b"0")
    desk.queue.close_batches()
    desk.put(b"1")
    desk.queue.close_batches()
    desk.queue.sends.stored(0, AT)
    assert list(desk.queue.sends.unanswered()) == [desk.frames[1]]


async def test_the_end_fails_all_that_waits_and_takes_nothing_more(desk):
    sent, waiting = future(), future()
    desk.put(b"0", waiter=sent)
    desk.queue.close_batches()
    desk.put(b"1", waiter=waiting)
    flushing = asyncio.ensure_future(desk.queue.settled())
    await asyncio.sleep(0)
    desk.queue.fail_all(NotAllowed("it is over"))
    for waiter in (sent, waiting):
        with pytest.raises(NotAllowed, match="over"):
            await waiter
    await flushing
    with pytest.raises(NotAllowed, match="over"):
        desk.put(b"2")
    with pytest.raises(NotAllowed, match="over"):
        await desk.queue.put_many([b"2"], ManyReceipts())


@pytest.mark.parametrize("seed", range(5))
async def test_what_is_taken_of_the_clients_memory_is_given_back_however_it_ends(seed):
    chance = random.Random(seed)
    memory = MemoryLimit(1 << 40)
    one, other = (
        Desk(memory, batch_bytes_max=300, batching=batching, chunking=batching)
        for batching in (True, False)
    )
    for desk in (one, other):
        desk.queue.sends.size_max = 5_000
    for _ in range(400):
        desk = chance.choice((one, other))
        action = chance.randrange(10)
        if action == 0:
            desk.queue.close_batches()
        elif action == 1 and desk.sent:
            desk.queue.sends.refused(chance.choice(desk.sent)[0], NotAllowed("no"))
        elif action < 4:
            for pieces in desk.queue.sends.unanswered():
                [run] = FrameDecoder().feed(b"".join(pieces))
                desk.queue.sends.stored(run.sequences[0], AT)
                break
        else:
            details = OutgoingMessage(b"", key="k" * chance.randrange(50))
            if chance.random() < 0.1:
                details.deliver_after_s = 1.0
            with suppress(MessageTooLarge):
                desk.queue.put(bytes(chance.choice((1, 50, 500, 9_000))), details, None)
    assert memory.used_bytes > 0
    one.queue.fail_all(NotAllowed("over"))
    other.queue.fail_all(NotAllowed("over"))
    assert memory.used_bytes == 0
