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
