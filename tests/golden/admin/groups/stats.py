"""Stats of topics."""

from golden.admin.groups.shared import NOT_OURS, TOPICS, listen
from support.loop import until_idle

from magnetar import InitialPosition, SubscriptionType

NO_DATES = "the metadata store notes no dates and counts its own versions"


async def types(world):
    """A topic with consumers of several types, of which two have acknowledged something."""
    topic = f"{TOPICS}/data2"
    world.kept["types"] = [
        await _keyed(world, topic),
        await _consumer(world, "sub-ks", SubscriptionType.KEY_SHARED, "ks-1"),
    ]
    await until_idle()
    kept = world.kept["types"]
    kept.append(await _consumer(world, "sub-ks", SubscriptionType.KEY_SHARED, "ks-2"))
    kept.append(await _consumer(world, "sub-fo", SubscriptionType.FAILOVER, "fo-1"))
    shared = await _consumer(world, "sub-sh2", SubscriptionType.SHARED, "sh-1")
    received = [await shared.receive() for _ in range(15)]
    for index in (0, 2, 3, 4):
        await shared.acknowledge(received[index])
    reader = await world.client.create_reader(
        topic, subscription="reader-5d7bf34115", name="rd-1", ack_group_time_s=0
    )
    await reader.receive()
    kept += [shared, reader]
    await until_idle()


async def _keyed(world, topic):
    """A producer of messages that the second consumer of a key takes none from the first."""
    producer = await world.client.create_producer(topic, name="prod-2", batching=False)
    for _ in range(15):
        await producer.send(b"x", key="k0")
    return producer


async def _consumer(world, subscription, kind, name):
    return await world.client.subscribe(
        f"{TOPICS}/data2",
        subscription,
        type=kind,
        name=name,
        initial_position=InitialPosition.EARLIEST,
        receiver_queue_size=100,
        ack_group_time_s=0,
    )


async def delayed(world):
    await listen(world, f"{TOPICS}/delayed", "sub-dl", type=SubscriptionType.SHARED)
    producer = await world.send(f"{TOPICS}/delayed", b"now", name="dl-1")
    await producer.send(b"later", deliver_after_s=3600)


BEFORE = {"stats_types": types, "stats_delayed": delayed}
DIFFERENCES = {
    "internal_info": NO_DATES,
    "internal_info_unknown": NOT_OURS,
    "internal_info_partitioned": NO_DATES,
    "backlogSize_no_body": NOT_OURS,
    "backlog_offline_estimate": ("there is no topic of the name, so that nothing is made up of it"),
}
