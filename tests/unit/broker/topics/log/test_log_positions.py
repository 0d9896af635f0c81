"""What is found in a log."""

from magnetar.model.position import EARLIEST


async def test_the_last_message_id_counts_within_a_batch(bench, make_entry):
    assert await bench.topic.log.last_message_id() == (EARLIEST, -1)
    await bench.publish("a")
    position, index = await bench.topic.log.last_message_id()
    assert (position.entry_id, index) == (0, -1)
    await bench.publish(make_entry("x", batch=4), counts=[4])
    position, index = await bench.topic.log.last_message_id()
    assert (position.entry_id, index) == (1, 3)


async def test_a_message_is_there_with_its_last_chunk(bench, make_entry):
    await bench.publish("a")
    said = {"num_chunks_from_msg": 3, "total_chunk_msg_size": 3, "uuid": "u"}
    found = []
    for index in range(3):
        await bench.publish(make_entry("c", chunk_id=index, **said))
        found.append((await bench.topic.log.last_message_id())[0].entry_id)
    assert found == [0, 0, 3]
