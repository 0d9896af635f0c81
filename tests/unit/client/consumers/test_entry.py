"""Entries that are taken apart by who receives them."""

import pytest

from magnetar.errors import CorruptEntry


async def put(client, topic, *payloads, **options):
    async with await client.create_producer(topic, **options) as producer:
        return await producer.send_many(payloads)


async def test_an_entry_has_the_messages_that_were_sent_together(local_client):
    ids = await put(local_client, "t", b"0", b"1", b"2")
    await put(local_client, "t", b"3", batching=False)
    reader = await local_client.create_reader("t")
    batch, single = await reader.receive_entries(9, 5)
    assert [message.data for message in batch.messages()] == [b"0", b"1", b"2"]
    assert [message.message_id for message in batch.messages()] == list(ids)
    assert (batch.count, batch.last_id) == (3, ids[2])
    assert [message.data for message in single.messages()] == [single.payload] == [b"3"]
    assert (single.count, single.last_id.batch_index) == (1, -1)
    assert not await reader.has_message_available()
    assert await reader.receive_entries(9, 0.01) == []


async def test_of_an_entry_only_the_rest_may_be_wanted(local_client):
    ids = await put(local_client, "t", b"0", b"1", b"2")
    reader = await local_client.create_reader("t", ids[0])
    (entry,) = await reader.receive_entries(9, 5)
    assert [message.data for message in entry.messages()] == [b"1", b"2"]
    assert (entry.count, entry.last_id, bin(entry.wanted)) == (2, ids[2], "0b110")


async def test_messages_and_entries_may_be_received_in_turns(local_client):
    for _ in range(3):
        await put(local_client, "t", b"0", b"1", b"2")
    reader = await local_client.create_reader("t")
    assert (await reader.receive(5)).data == b"0"
    entries = await reader.receive_entries(3, 5)
    assert [entry.count for entry in entries] == [2, 3]
    assert [message.data for message in await reader.receive_many(9, 5)] == [b"0", b"1", b"2"]


async def test_entries_come_from_all_partitions(partitioned_client):
    await put(partitioned_client, "t", *(b"%d" % number for number in range(9)), batching=False)
    reader = await partitioned_client.create_reader("t")
    found = set()
    while len(found) < 9:
        found |= {entry.payload for entry in await reader.receive_entries(9, 5)}
    assert len(found) == 9


async def test_a_payload_that_is_no_batch_is_an_error(local_client):
    await put(local_client, "t", b"0", b"1")
    reader = await local_client.create_reader("t")
    (entry,) = await reader.receive_entries(9, 5)
    entry.data = entry.data[:-1]
    with pytest.raises(CorruptEntry):
        entry.messages()
