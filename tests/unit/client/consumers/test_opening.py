from magnetar.wire.commands import BaseCommand


async def test_topics_named_twice_are_subscribed_once(client):
    consumer = await client.subscribe(["t", "persistent://public/default/t"], "s")
    assert consumer.topics == ["persistent://public/default/t"]


async def test_partitions_share_the_queue(peer, client):
    peer.partitions = 4
    await client.subscribe("t", "s", receiver_queue_size=1000, total_receiver_queue_size=100)
    flows = [await peer.saw(BaseCommand.FLOW, count) for count in range(1, 5)]
    assert {command.flow.messagePermits for command in flows} == {25}
