"""Where a consumer is in the log of the scripted peer: seeks, and the last message."""

import pytest
from support import draining
from support.draining import data
from unit.client.peer import LEDGER, hang_up, refuse, silence

from magnetar.client.client import Client
from magnetar.errors import (
    TimedOut,
    UnknownFailure,
)
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId, Position
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand


async def drained(consumer, count):
    """The next ``count`` payloads."""
    return data(await draining.drained(consumer, count))


async def acks(peer, count):
    """What was acknowledged by ``count`` commands: entry ids, one list each."""
    await peer.saw(BaseCommand.ACK, count)
    return [[place.entryId for place in c.ack.message_id] for c in peer.of(BaseCommand.ACK)]


@pytest.mark.parametrize(
    ("index", "inclusive", "expected"),
    [(-1, True, 4), (-1, False, 6), (0, True, 4), (1, True, 5), (0, False, 5), (1, False, 6)],
)
@pytest.mark.usefixtures("stored")
async def test_it_seeks_to_a_message_or_behind_it(peer, client, index, inclusive, expected):
    consumer = await client.subscribe("t", "s")
    await drained(consumer, 3)
    await consumer.seek(MessageId(LEDGER, 2, -1, index, 2 * (index >= 0)), inclusive=inclusive)
    message = await consumer.receive(5)
    assert message.data == b"%d" % expected
    assert not message.redelivered
    assert len(peer.of(BaseCommand.SUBSCRIBE)) == 2


@pytest.mark.usefixtures("stored")
async def test_it_seeks_to_the_ends(peer, client):
    consumer = await client.subscribe("t", "s")
    await drained(consumer, 8)
    await consumer.seek(EARLIEST_MESSAGE)
    assert await drained(consumer, 8) == [b"%d" % n for n in range(8)]
    sought = peer.of(BaseCommand.SEEK)[0].seek.message_id
    assert (sought.ledgerId, sought.entryId) == (2**64 - 1, 2**64 - 1)
    await consumer.seek(LATEST_MESSAGE)
    sought = peer.of(BaseCommand.SEEK)[1].seek.message_id
    assert (sought.ledgerId, sought.entryId) == (2**63 - 1, 2**63 - 1)


@pytest.mark.usefixtures("stored")
async def test_it_seeks_by_time(peer, client):
    def by_time(connection, frame):
        asked = frame.command.seek
        assert asked.message_publish_time == 12345
        peer.mark = Position(LEDGER, 1)
        connection.subscribed.clear()
        connection.write(replies.close_consumer(0), replies.success(asked.request_id))

    consumer = await client.subscribe("t", "s")
    peer.script(BaseCommand.SEEK, by_time)
    await consumer.seek_time(12345)
    assert await drained(consumer, 4) == [b"4", b"5", b"6", b"7"]


@pytest.mark.usefixtures("stored")
async def test_a_seek_that_is_answered_before_it_throws_out_works_too(peer, client):
    def success_first(connection, frame):
        asked = frame.command.seek
        peer.mark = Position(LEDGER, 1)
        connection.subscribed.clear()
        connection.write(replies.success(asked.request_id))
        connection.write(replies.close_consumer(asked.consumer_id))

    consumer = await client.subscribe("t", "s")
    await drained(consumer, 3)
    peer.script(BaseCommand.SEEK, success_first)
    await consumer.seek(MessageId(LEDGER, 2))
    await peer.saw(BaseCommand.SUBSCRIBE, 2)
    assert await drained(consumer, 4) == [b"4", b"5", b"6", b"7"]


@pytest.mark.usefixtures("stored")
async def test_a_failed_seek_leaves_everything_as_it_was(peer, client):
    consumer = await client.subscribe("t", "s")
    assert await drained(consumer, 3) == [b"0", b"1", b"2"]
    peer.script(BaseCommand.SEEK, refuse("seek", UnknownFailure("Error when resetting")))
    with pytest.raises(UnknownFailure, match="Error when resetting"):
        await consumer.seek(EARLIEST_MESSAGE)
    assert await drained(consumer, 5) == [b"3", b"4", b"5", b"6", b"7"]


@pytest.mark.usefixtures("stored")
async def test_a_seek_goes_on_after_the_connection_was_lost(peer, client):
    consumer = await client.subscribe("t", "s")
    peer.script(BaseCommand.SEEK, hang_up)
    await consumer.seek(MessageId(LEDGER, 3))
    assert await drained(consumer, 2) == [b"6", b"7"]


@pytest.mark.usefixtures("stored")
async def test_a_seek_without_answer_times_out(peer):
    async with Client(peer.url, operation_timeout_s=1) as client:
        consumer = await client.subscribe("t", "s")
        peer.script(BaseCommand.SEEK, silence)
        with pytest.raises(TimedOut):
            await consumer.seek(EARLIEST_MESSAGE)
        assert await drained(consumer, 1) == [b"0"]


@pytest.mark.usefixtures("stored")
async def test_acknowledgements_from_before_a_seek_do_not_follow_it(peer, client):
    consumer = await client.subscribe("t", "s")
    messages = []
    while len(messages) < 8:
        messages += await consumer.receive_many(8, 5)
    consumer.acknowledge(messages[:3])
    await consumer.seek(EARLIEST_MESSAGE)
    assert await drained(consumer, 8) == [b"%d" % n for n in range(8)]
    assert await acks(peer, 1) == [[0]]


async def test_the_last_message_is_told(client):
    consumer = await client.subscribe("t", "s")
    assert await consumer.last_message_id() is None
    async with await client.create_producer("t") as producer:
        last = (await producer.send_many([b"a", b"b", b"c"]))[-1]
    assert await consumer.last_message_id() == last


async def test_it_knows_whether_there_is_more(client):
    consumer = await client.subscribe("t", "s")
    assert not await consumer.has_message_available()
    async with await client.create_producer("t") as producer:
        await producer.send_many([b"a", b"b"])
    assert await consumer.has_message_available()
    await consumer.receive(5)
    assert await consumer.has_message_available()
    await consumer.receive(5)
    assert not await consumer.has_message_available()


@pytest.mark.usefixtures("stored")
async def test_after_a_reconnection_the_mark_tells_whether_there_is_more(peer, client):
    peer.mark = Position(LEDGER, 3)
    consumer = await client.subscribe("t", "s")
    assert not await consumer.has_message_available()
    peer.mark = Position(LEDGER, 2)
    assert await consumer.has_message_available()


@pytest.mark.usefixtures("stored")
async def test_a_question_is_asked_again_after_the_connection_was_lost(peer, client):
    consumer = await client.subscribe("t", "s")
    peer.script(BaseCommand.GET_LAST_MESSAGE_ID, hang_up)
    assert (await consumer.last_message_id()).entry_id == 3
