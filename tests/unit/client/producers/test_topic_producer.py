"""A producer of one topic against the scripted peer: receipts, errors, reconnections, the end."""

import asyncio

import pytest
from support.loop import until
from unit.client.peer import LEDGER, PeerConnection, hang_up, refuse, silence

from magnetar.client.client import Client
from magnetar.client.producers.config import ProducerConfig
from magnetar.client.producers.encoding import Encoder
from magnetar.client.producers.topic_producer import TopicProducer
from magnetar.errors import (
    AlreadyClosed,
    ChecksumMismatch,
    ConnectionLost,
    InvalidValue,
    NotAllowed,
    NotReady,
    NotStored,
    ProducerBusy,
    ProducerFenced,
    TimedOut,
    TopicTerminated,
    UnknownFailure,
    WriteFailed,
)
from magnetar.message.metadata import parse
from magnetar.model.names import TopicName
from magnetar.model.position import MessageId
from magnetar.model.producers import ProducerAccessMode
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


def sequences(peer):
    """The first sequence id of each entry the peer stored."""
    return [parse(data).sequence_id for data, _ in peer.entries]


def ignore(_connection, _run):
    """No receipt."""


async def test_a_message_is_sent_and_its_id_comes_back(client):
    producer = await client.create_producer("t", batching=False)
    assert await producer.send(b"one") == MessageId(LEDGER, 0)
    assert await producer.send(b"two") == MessageId(LEDGER, 1)
    assert (producer.topic, producer.name) == ("persistent://public/default/t", "peer-0")
    assert producer.last_sequence_id == 1
    assert producer.connected


async def test_messages_sent_together_share_an_entry(peer, client):
    producer = await client.create_producer("t")
    ids = await asyncio.gather(*(producer.submit(b"%d" % n) for n in range(3)))
    assert ids == [MessageId(LEDGER, 0, -1, n, 3) for n in range(3)]
    assert len(peer.entries) == 1


async def test_a_name_of_its_own_is_asked_for_and_one_made_up_is_kept(peer, client):
    await client.create_producer("t", name="mine", properties={"a": "b"})
    made_up = await client.create_producer("t")
    peer.connections[0].drop()
    await peer.saw(BaseCommand.PRODUCER, 4)
    asked = [command.producer for command in peer.of(BaseCommand.PRODUCER)]
    assert [(p.producer_name, p.user_provided_producer_name) for p in asked[:2]] == [
        ("mine", True),
        ("", False),
    ]
    assert [(pair.key, pair.value) for pair in asked[0].metadata] == [("a", "b")]
    again = {(p.producer_name, p.user_provided_producer_name, p.epoch) for p in asked[2:]}
    assert again == {("mine", True, 1), (made_up.name, False, 1)}


async def test_numbers_go_on_where_the_broker_remembers(peer, client):
    def remember(connection, frame):
        asked = frame.command.producer
        connection.write(replies.producer_success(asked.request_id, "p", 41))

    peer.script(BaseCommand.PRODUCER, remember, remember)
    producer = await client.create_producer("t", name="p", batching=False)
    assert producer.last_sequence_id == 41
    await producer.send(b"x")
    await producer.send(b"y", sequence_id=100)
    await producer.send(b"z")
    assert sequences(peer) == [42, 100, 101]
    chosen = await client.create_producer("t", name="p", initial_sequence_id=7, batching=False)
    await chosen.send(b"x")
    assert sequences(peer)[-1] == 7


async def test_what_has_no_receipt_is_sent_again_in_order_after_the_connection_was_lost(
    peer, client
):
    producer = await client.create_producer("t", batching=False)
    await producer.send(b"0")
    peer.on_run = ignore
    pending = [producer.submit(b"%d" % n) for n in range(1, 5)]
    await until(lambda: sum(map(len, peer.runs)) == 5)
    peer.on_run = PeerConnection.receipts
    peer.connections[0].drop()
    pending.append(producer.submit(b"5"))
    ids = await asyncio.gather(*pending)
    assert sequences(peer) == [0, 1, 2, 3, 4, 5]
    assert [found.entry_id for found in ids] == [1, 2, 3, 4, 5]


async def test_a_broker_that_restarts_finds_everything_waiting(peer, client):
    producer = await client.create_producer("t", batching=False)
    await peer.stop()
    await until(lambda: not producer.connected)
    pending = [producer.submit(b"%d" % n) for n in range(3)]
    await peer.start()
    await asyncio.gather(*pending)
    assert sequences(peer) == [0, 1, 2]


async def test_a_broker_that_lets_go_is_looked_up_again_on_the_same_connection(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = ignore
    pending = producer.submit(b"0")
    await until(lambda: len(peer.runs) == 1)
    peer.on_run = PeerConnection.receipts
    peer.connections[0].write(replies.close_producer(0))
    await pending
    assert len(peer.of(BaseCommand.LOOKUP)) == 2
    assert len(peer.of(BaseCommand.CONNECT)) == 1
    assert [c.producer.epoch for c in peer.of(BaseCommand.PRODUCER)] == [0, 1]


async def test_it_waits_for_its_name_to_be_free_after_a_reconnection(peer, client):
    producer = await client.create_producer("t", name="mine", batching=False)
    peer.script(BaseCommand.PRODUCER, *[refuse("producer", ProducerBusy("your old self"))] * 3)
    peer.connections[0].drop()
    await producer.send(b"x")
    assert len(peer.of(BaseCommand.PRODUCER)) == 5


async def test_an_owner_shows_its_epoch_when_it_comes_back(peer, client):
    def owns(connection, frame):
        asked = frame.command.producer.request_id
        connection.write(replies.producer_success(asked, "p", topic_epoch=7))

    peer.script(BaseCommand.PRODUCER, owns)
    producer = await client.create_producer("t", access_mode=ProducerAccessMode.EXCLUSIVE)
    peer.connections[0].drop()
    await producer.send(b"x")
    first, again = (command.producer for command in peer.of(BaseCommand.PRODUCER))
    assert first.producer_access_mode == ProducerAccessMode.EXCLUSIVE
    assert not first.HasField("topic_epoch")
    assert again.topic_epoch == 7


async def test_an_owner_that_another_has_fenced_ends(peer, client):
    producer = await client.create_producer("t", access_mode=ProducerAccessMode.EXCLUSIVE)
    peer.script(BaseCommand.PRODUCER, refuse("producer", ProducerFenced("another")))
    peer.connections[0].drop()
    with pytest.raises(ProducerFenced, match="another"):
        await producer.send(b"x")


async def test_who_loses_its_place_in_line_stands_in_line_again(peer, client):
    def in_line(connection, frame):
        asked = frame.command.producer.request_id
        connection.write(replies.producer_success(asked, "p", producer_ready=False))

    peer.script(BaseCommand.PRODUCER, in_line, in_line)
    waits = ProducerAccessMode.WAIT_FOR_EXCLUSIVE
    opening = asyncio.ensure_future(client.create_producer("t", access_mode=waits))
    await peer.saw(BaseCommand.PRODUCER)
    peer.connections[0].drop()
    await peer.saw(BaseCommand.PRODUCER, 2)
    request = peer.of(BaseCommand.PRODUCER)[1].producer.request_id
    peer.connections[0].write(replies.producer_success(request, "p"))
    assert (await opening).connected


async def test_who_waits_at_a_broker_that_lets_go_stands_in_line_elsewhere(peer, client):
    def in_line(connection, frame):
        asked = frame.command.producer.request_id
        connection.write(replies.producer_success(asked, "p", producer_ready=False))

    peer.script(BaseCommand.PRODUCER, in_line)
    waits = ProducerAccessMode.WAIT_FOR_EXCLUSIVE
    opening = asyncio.ensure_future(client.create_producer("t", access_mode=waits))
    await peer.saw(BaseCommand.PRODUCER)
    peer.connections[0].write(replies.close_producer(0))
    assert (await opening).connected
    assert len(peer.of(BaseCommand.LOOKUP)) == 2
    assert not peer.of(BaseCommand.CLOSE_PRODUCER)


async def test_a_receipt_out_of_order_means_a_new_connection(peer, client):
    producer = await client.create_producer("t", batching=False)

    def only_the_second(connection, run):
        if run.sequences[-1] >= 1:
            connection.write(replies.send_receipt(run.producer_id, 1, LEDGER, 0))
            peer.on_run = PeerConnection.receipts

    peer.on_run = only_the_second
    await asyncio.gather(producer.submit(b"0"), producer.submit(b"1"))
    assert sequences(peer) == [0, 1]
    assert len(peer.of(BaseCommand.CONNECT)) == 2


async def test_an_old_receipt_is_nobodys(peer, client):
    producer = await client.create_producer("t", batching=False, initial_sequence_id=5)

    def an_old_one_first(connection, run):
        connection.write(replies.send_receipt(run.producer_id, 4, LEDGER, 99))
        connection.receipts(run)

    peer.on_run = an_old_one_first
    assert (await producer.send(b"0")).entry_id == 0
    assert len(peer.of(BaseCommand.CONNECT)) == 1


async def test_a_duplicate_is_stored_at_minus_one(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = lambda c, run: c.write(replies.send_receipt(run.producer_id, 0, -1, -1))
    assert await producer.send(b"0") == MessageId(-1, -1)


@pytest.mark.parametrize("error", [NotAllowed("too large"), TopicTerminated("over")])
async def test_a_message_the_broker_refuses_fails_alone(peer, client, error):
    producer = await client.create_producer("t", batching=False)

    def refuse_the_second(connection, run):
        for sequence in run.sequences:
            if sequence == 1:
                connection.write(replies.send_error(run.producer_id, 1, error))
            else:
                connection.write(replies.send_receipt(run.producer_id, sequence, LEDGER, sequence))

    peer.on_run = refuse_the_second
    sent = [producer.submit(b"%d" % n) for n in range(3)]
    assert (await sent[0]).entry_id == 0
    with pytest.raises(type(error), match=str(error)):
        await sent[1]
    assert (await sent[2]).entry_id == 2


@pytest.mark.parametrize("error", [WriteFailed("disk"), ChecksumMismatch("bits")])
async def test_what_may_work_later_is_sent_again_on_a_new_connection(peer, client, error):
    producer = await client.create_producer("t", batching=False)

    def fail_once(connection, run):
        connection.write(replies.send_error(run.producer_id, 0, error))
        peer.on_run = PeerConnection.receipts

    peer.on_run = fail_once
    assert (await producer.send(b"0")).entry_id == 0
    assert len(peer.of(BaseCommand.CONNECT)) == 2


@pytest.fixture
def _unable_to_encode(monkeypatch):
    """Every message meets a mistake of ours."""

    def mistake(*_):
        raise ValueError("a bug")

    monkeypatch.setattr(Encoder, "batch", mistake)
    monkeypatch.setattr(Encoder, "single", mistake)


@pytest.mark.usefixtures("_unable_to_encode")
async def test_a_batch_that_cannot_be_encoded_fails_all_its_messages(peer, client, caplog):
    producer = await client.create_producer("t", max_pending_messages=11, batch_messages_max=11)
    receipts = [producer.submit(b"x") for _ in range(11)]
    for receipt in receipts:
        with pytest.raises(UnknownFailure, match=r"11 messages to .*/t could not be encoded"):
            await receipt
    assert "producer.encoding_failed" in caplog.text
    assert "Traceback" in caplog.text
    await producer.ready()  # None of them takes any room.
    await producer.flush()
    assert not peer.runs


@pytest.mark.usefixtures("_unable_to_encode")
async def test_flush_tells_that_a_batch_could_not_be_encoded(client):
    producer = await client.create_producer("t", max_pending_messages=100)
    for _ in range(100):
        producer.send_nowait(b"x")
    with pytest.raises(UnknownFailure, match=r"100 messages to .*/t could not be encoded"):
        await producer.flush()
    await producer.flush()
    await producer.ready()


@pytest.mark.usefixtures("_unable_to_encode")
async def test_many_messages_that_cannot_be_encoded_are_settled(client):
    for batching in (True, False):
        producer = await client.create_producer("t", batching=batching, max_pending_messages=2)
        with pytest.raises(UnknownFailure, match="could not be encoded"):
            await producer.send_many([b"x"] * 5)
        if not batching:
            with pytest.raises(UnknownFailure, match="could not be encoded"):
                producer.submit(b"x")
        await producer.flush()


async def test_flush_raises_what_it_waited_for(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = ignore
    receipts = [producer.submit(b"%d" % number) for number in range(3)]
    first = asyncio.ensure_future(producer.flush())
    second = asyncio.ensure_future(producer.flush())
    await until(lambda: sum(map(len, peer.runs)) == 3)
    later = producer.submit(b"3")
    refused = replies.send_error(peer.runs[0].producer_id, 1, NotAllowed("the second"))
    peer.connections[0].write(refused)
    for receipt in (0, 2, 3):
        peer.connections[0].write(
            replies.send_receipt(peer.runs[0].producer_id, receipt, LEDGER, receipt)
        )
    for flush in (first, second):
        with pytest.raises(NotAllowed, match="the second"):
            await flush
    with pytest.raises(NotAllowed, match="the second"):
        await receipts[1]
    await later
    await producer.flush()


async def test_flush_raises_what_a_cancelled_future_could_not_tell(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = lambda c, run: c.write(replies.send_error(run.producer_id, 0, NotAllowed("no")))
    producer.submit(b"0").cancel()
    await until(lambda: len(peer.runs) == 1)
    with pytest.raises(NotAllowed, match="no"):
        await producer.flush()


async def test_closing_raises_what_nobody_was_told(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = lambda c, run: c.write(replies.send_error(run.producer_id, 0, NotAllowed("no")))
    producer.send_nowait(b"0")
    with pytest.raises(NotStored, match=r"1 message that the producer of \S+ had taken: no$"):
        await producer.close()


async def test_a_message_given_up_says_what_kept_it(peer):
    async with Client(peer.url, backoff_first_s=0.01) as client:
        producer = await client.create_producer("t", batching=False, send_timeout_s=0.2)
        full = WriteFailed("the disk is full")
        peer.on_run = lambda c, run: c.write(replies.send_error(run.producer_id, 0, full))
        with pytest.raises(TimedOut, match=r"no receipt.*the disk is full") as given_up:
            await producer.send(b"0")
        assert isinstance(given_up.value.__cause__, WriteFailed)
        peer.on_run = PeerConnection.receipts
        await producer.send(b"1")
        peer.on_run = ignore
        with pytest.raises(TimedOut, match=r"all the same$") as given_up:
            await producer.send(b"2")
        assert given_up.value.__cause__ is None


async def test_a_message_given_up_says_that_there_is_no_broker(peer):
    async with Client(peer.url, backoff_first_s=0.01, operation_timeout_s=0.1) as client:
        producer = await client.create_producer("t", batching=False, send_timeout_s=0.2)
        await peer.stop()
        with pytest.raises(TimedOut, match=f"cannot connect to {peer.address}") as given_up:
            await producer.send(b"0")
        assert isinstance(given_up.value.__cause__, ConnectionLost)
        await peer.start()


async def test_a_producer_that_may_not_come_back_fails_everything(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = ignore
    pending = producer.submit(b"0")
    producer.send_nowait(b"1")
    await until(lambda: sum(map(len, peer.runs)) == 2)
    peer.script(BaseCommand.PRODUCER, refuse("producer", TopicTerminated("over")))
    peer.connections[0].write(replies.close_producer(0))
    with pytest.raises(TopicTerminated, match="over"):
        await pending
    with pytest.raises(TopicTerminated, match="over"):
        producer.submit(b"2")
    with pytest.raises(TopicTerminated, match="over"):
        await producer.ready()
    with pytest.raises(TopicTerminated, match="over"):
        await producer.flush()
    await producer.close()


async def test_what_cannot_be_created_is_told_and_leaves_nothing(peer, lookup, context):
    peer.script(BaseCommand.PRODUCER, refuse("producer", ProducerBusy("taken")))
    producer = TopicProducer(TopicName.parse("t"), ProducerConfig(name="p"), context)
    with pytest.raises(ProducerBusy, match="taken"):
        await producer.start()
    assert (await lookup.connect("t")).producers == {}
    await producer.close()


async def test_a_cancelled_creation_takes_back_what_the_broker_may_have_made(peer, client):
    peer.script(BaseCommand.PRODUCER, silence)
    creating = asyncio.ensure_future(client.create_producer("t"))
    await peer.saw(BaseCommand.PRODUCER)
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    await peer.saw(BaseCommand.CLOSE_PRODUCER)


async def test_creation_times_out(peer):
    async with Client(peer.url, operation_timeout_s=0.1) as client:
        peer.script(BaseCommand.PRODUCER, silence)
        with pytest.raises(TimedOut):
            await client.create_producer("t")


async def test_creation_survives_a_lost_connection(peer, client):
    peer.script(BaseCommand.PRODUCER, hang_up, refuse("producer", NotReady("loading")))
    producer = await client.create_producer("t")
    assert producer.connected


async def test_closing_flushes_and_tells_the_broker(peer, client):
    producer = await client.create_producer("t", batch_delay_s=60)
    pending = producer.submit(b"0")
    await producer.close()
    assert (await pending).entry_id == 0
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) == 1
    await producer.close()
    with pytest.raises(AlreadyClosed, match="is closed"):
        producer.submit(b"1")
    with pytest.raises(AlreadyClosed, match="is closed"):
        await producer.ready()
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) == 1


async def test_closing_without_a_broker_gives_up_after_the_operation_timeout(peer):
    async with Client(peer.url, operation_timeout_s=0.1) as client:
        producer = await client.create_producer("t")
        await peer.stop()
        pending = producer.submit(b"0")
        producer.send_nowait(b"1")
        with pytest.raises(NotStored, match=r"2 messages .*of closing; the last error") as told:
            await producer.close()
        assert isinstance(told.value.__cause__.__cause__, ConnectionLost)
        with pytest.raises(AlreadyClosed, match="is closed"):
            await pending
        await peer.start()


async def test_closing_has_a_time_of_its_own(peer):
    async with Client(peer.url, close_timeout_s=0.01) as client:
        producer = await client.create_producer("t")
        other = await client.create_producer("t")
        await peer.stop()
        producer.send_nowait(b"0")
        other.send_nowait(b"1")
        with pytest.raises(NotStored, match=r"within 0\.01 s of closing"):
            await producer.close()
        with pytest.raises(NotStored, match=r"within 0\.02 s of closing"):
            await other.close(timeout_s=0.02)
        with pytest.raises(InvalidValue, match="timeout_s"):
            other.close(timeout_s=-1)


async def test_a_cancelled_close_goes_on_without_who_waited_for_it(peer, client):
    producer = await client.create_producer("t", batching=False)
    peer.on_run = ignore
    pending = producer.submit(b"0")
    closing = asyncio.ensure_future(producer.close())
    await until(lambda: len(peer.runs) == 1)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    with pytest.raises(AlreadyClosed, match="is closed"):
        producer.submit(b"1")
    assert not pending.done()
    peer.connections[0].receipts(peer.runs[0])
    assert (await pending).entry_id == 0
    await producer.close()
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) == 1


async def test_a_client_that_closes_leaves_no_task_and_no_socket(peer):
    before = len(asyncio.all_tasks())
    async with Client(peer.url) as client:
        producer = await client.create_producer("t")
        await producer.send(b"x")
        await client.create_producer("u")
    assert len(asyncio.all_tasks()) - before <= 1  # The peer's own, for a connection it has lost.
    await until(lambda: not peer.connections)


async def test_as_a_context_it_closes_itself(peer, client):
    async with await client.create_producer("t") as producer:
        await producer.send(b"x")
    assert len(peer.of(BaseCommand.CLOSE_PRODUCER)) == 1
