"""What a receiver's topics share, whenever each of them comes."""

from support.loop import until
from unit.client.peer import refuse

from magnetar.errors import TopicNotFound
from magnetar.wire.commands import BaseCommand

A = "persistent://public/default/a"


async def test_a_topic_that_comes_to_a_paused_receiver_waits_as_the_others(peer, client):
    missing = refuse("partitionMetadata", TopicNotFound("no such topic"))
    peer.script(BaseCommand.PARTITIONED_METADATA, missing)
    consumer = await client.subscribe(["a"], "s", topics_refresh_s=0.01, start_paused=True)
    await until(lambda: consumer.topics == [A])
    await consumer.last_message_id()  # The peer has had all that came before the question.
    assert consumer.paused
    assert not peer.of(BaseCommand.FLOW)
    consumer.resume()
    await peer.saw(BaseCommand.FLOW)
    assert not consumer.paused
