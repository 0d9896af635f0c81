"""Readers of a real broker in this process."""

import asyncio

import pytest
from unit.client.local import PARTITIONS
from unit.client.peer import LEDGER, lose_connection

from magnetar.errors import AlreadyClosed, InvalidValue, TimedOut
from magnetar.model.position import EARLIEST_MESSAGE, LATEST_MESSAGE, MessageId
from magnetar.wire.commands import BaseCommand


async def put(client, topic, *payloads, **options):
    async with await client.create_producer(topic, **options) as producer:
        return await producer.send_many(payloads)


async def everything(reader):
    """What is there to read now."""
    found = []
    while await reader.has_message_available():
        found += [message.data for message in await reader.receive_many(100, 5)]
    return found


async def test_it_reads_a_topic_from_its_beginning(local_client):
    await put(local_client, "t", b"0", b"1", b"2")
    reader = await local_client.create_reader("t")
    assert reader.topic == "persistent://public/default/t"
    assert reader.topics == [reader.topic]
    assert len(reader.name) == 10
    assert reader.connected
    assert (await reader.receive(5)).data == b"0"
    assert await everything(reader) == [b"1", b"2"]
    with pytest.raises(TimedOut):
        await reader.receive(0.01)


@pytest.mark.parametrize("batching", [True, False])
@pytest.mark.parametrize(("inclusive", "expected"), [(True, [b"1", b"2"]), (False, [b"2"])])
async def test_it_begins_at_a_message_or_behind_it(local_client, batching, inclusive, expected):
    ids = await put(local_client, "t", b"0", b"1", b"2", batching=batching)
    reader = await local_client.create_reader("t", ids[1], inclusive=inclusive)
    assert await everything(reader) == expected


async def test_it_begins_at_the_end_or_with_the_last_message(local_client):
    await put(local_client, "t", b"0", b"1")
    behind = await local_client.create_reader("t", LATEST_MESSAGE)
    last = await local_client.create_reader("t", LATEST_MESSAGE, inclusive=True)
    assert not await behind.has_message_available()
    assert await everything(last) == [b"1"]
    await put(local_client, "t", b"2")
    assert await everything(behind) == [b"2"]
    assert await everything(last) == [b"2"]


async def test_behind_the_end_of_a_ledger_it_tells_the_last_entry_of_that(local_client):
    ids = await put(local_client, "t", b"0", b"1", b"2", batching=False)
    ledger = ids[0].ledger_id
    for start, before in ((ids[0], -1), (ids[2], 1), (MessageId(ledger, 2**62, -1), 2)):
        async with await local_client.create_reader("t", start, inclusive=True) as reader:
            assert await reader.mark_delete_position() == (ledger, before)
    empty = await local_client.create_reader("empty", EARLIEST_MESSAGE)
    assert await empty.mark_delete_position() is None


async def test_on_an_empty_topic_there_is_nothing_yet(local_client):
    for start in (EARLIEST_MESSAGE, LATEST_MESSAGE):
        reader = await local_client.create_reader("t", start, inclusive=True)
        assert not await reader.has_message_available()
        assert await reader.last_message_id() is None


async def test_it_goes_anywhere(local_client):
    ids = await put(local_client, "t", *[b"%d" % n for n in range(5)], batching=False)
    reader = await local_client.create_reader("t")
    await everything(reader)
    await reader.seek(ids[3])
    assert await everything(reader) == [b"3", b"4"]
    await reader.seek(ids[3], inclusive=False)
    assert await everything(reader) == [b"4"]
    await reader.seek(EARLIEST_MESSAGE)
    assert len(await everything(reader)) == 5
    await reader.seek(LATEST_MESSAGE)
    assert await everything(reader) == []
    await reader.seek_time(0)
    assert len(await everything(reader)) == 5
    assert await reader.last_message_id() == ids[4]


async def test_readers_do_not_disturb_each_other(local_client):
    await put(local_client, "t", b"0", b"1")
    first, second = await local_client.create_reader("t"), await local_client.create_reader("t")
    assert await everything(first) == await everything(second) == [b"0", b"1"]


async def test_it_iterates_until_it_is_closed(local_client):
    await put(local_client, "t", b"0", b"1")
    found = []
    async with await local_client.create_reader("t") as reader:
        async for message in reader:
            found.append(message.data)
            if len(found) == 2:
                await reader.close()
    assert found == [b"0", b"1"]
    with pytest.raises(AlreadyClosed):
        await reader.receive()


async def test_partitions_are_read_together_from_where_each_was_left(partitioned_client):
    ids = await put(partitioned_client, "t", *[b"%d" % n for n in range(6)], batching=False)
    reader = await partitioned_client.create_reader("t")
    assert len(reader.topics) == PARTITIONS
    assert len(await everything(reader)) == 6
    places = {partition: max(i for i in ids if i.partition == partition) for partition in (0,)}
    resumed = await partitioned_client.create_reader("t", places)
    assert {(await resumed.receive(5)).partition for _ in range(4)} == {1, 2}
    assert not await resumed.has_message_available()
    last = await partitioned_client.create_reader("t", LATEST_MESSAGE, inclusive=True)
    assert {(await last.receive(5)).partition for _ in range(3)} == {0, 1, 2}
    with pytest.raises(InvalidValue, match="a start for each partition"):
        await partitioned_client.create_reader("t", ids[0])


async def test_it_asks_for_a_place_of_its_own_that_is_not_kept(peer, client):
    await client.create_reader("t", MessageId(LEDGER, 2), name="me", receiver_queue_size=5)
    asked = peer.of(BaseCommand.SUBSCRIBE)[0].subscribe
    assert asked.subscription.startswith("reader-")
    assert len(asked.subscription) == len("reader-") + 10
    assert (asked.durable, asked.subType, asked.consumer_name) == (False, 0, "me")
    assert (asked.start_message_id.ledgerId, asked.start_message_id.entryId) == (LEDGER, 2)


@pytest.mark.parametrize("batching", [True, False])
async def test_after_a_lost_connection_it_goes_on_where_the_application_was(peer, client, batching):
    await put(client, "t", *[b"%d" % n for n in range(4)], batching=batching)
    reader = await client.create_reader("t")
    assert [(await reader.receive(5)).data for _ in range(2)] == [b"0", b"1"]
    await lose_connection(peer, reader)
    assert [(await reader.receive(5)).data for _ in range(2)] == [b"2", b"3"]
    again = peer.of(BaseCommand.SUBSCRIBE)[1].subscribe.start_message_id
    assert again.entryId == (0 if batching else 1)
    with pytest.raises(TimedOut):
        await reader.receive(0.05)


async def test_before_anything_was_read_it_begins_anew_where_it_was_told(peer, client):
    await put(client, "t", *[b"%d" % n for n in range(4)], batching=False)
    reader = await client.create_reader("t", MessageId(LEDGER, 1))
    await peer.saw(BaseCommand.FLOW)
    await lose_connection(peer, reader)
    assert [(await reader.receive(5)).data for _ in range(2)] == [b"2", b"3"]


async def test_what_was_read_is_told_as_done_up_to_there(peer, client):
    await put(client, "t", b"0", b"1", b"2", batching=False)
    reader = await client.create_reader("t")
    await reader.receive_many(2, 5)
    await reader.close()
    acks = [command.ack for command in peer.of(BaseCommand.ACK)]
    assert [(ack.ack_type, ack.message_id[0].entryId) for ack in acks][-1][0] == 1
    await asyncio.sleep(0)
