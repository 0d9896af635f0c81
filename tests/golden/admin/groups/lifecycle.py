"""Compaction, unloading, offloading, termination, deletion."""

from golden.admin.groups.shared import NOT_YET, TOPICS, leave, listen
from support.loop import until


async def to_be_compacted(world):
    producer = await world.client.create_producer(f"{TOPICS}/comp", batching=False)
    for index in range(12):
        await producer.send(b"v%d" % index, key=f"k{index % 3}")
    await producer.close()


async def compacted(world):
    compaction = (await world.topic(f"{TOPICS}/comp")).compaction
    await until(lambda: not compaction.running)


async def to_be_terminated(world):
    await world.send(f"{TOPICS}/term", b"1", b"2", b"3")


async def to_be_deleted(world):
    for name in ("del1", "del2", "del3"):
        producer = await world.send(f"{TOPICS}/{name}", b"1")
        world.kept[f"{TOPICS}/{name}"] = producer
    await leave(world, f"{TOPICS}/del2", f"{TOPICS}/del3")
    await listen(world, f"{TOPICS}/del2", "s")
    await world.make(
        ("PUT", "persistent/golden/topics/del3/subscription/backlog", "earliest"),
        ("PUT", "persistent/golden/topics/p8/partitions", 2),
    )
    world.kept["p8"] = await world.send(f"{TOPICS}/p8-partition-1")


async def disconnected(world):
    await leave(world, f"{TOPICS}/del1", f"{TOPICS}/del2")


BEFORE = {
    "compaction_status_never": to_be_compacted,
    "compaction_status_done": compacted,
    "terminate_with_messages": to_be_terminated,
    "delete_with_backlog": to_be_deleted,
    "delete_with_subscription": disconnected,
}
DIFFERENCES = {
    "compaction_stats": NOT_YET,
    "compaction_internalStats": NOT_YET,
    "properties_after_compaction": NOT_YET,
    "trim": NOT_YET,
    "trim_partitioned": NOT_YET,
    "trim_unknown": NOT_YET,
    "offload_status": NOT_YET,
    "offload_trigger": NOT_YET,
    "offload_status2": NOT_YET,
    "truncate": NOT_YET,
    "truncate_unknown": NOT_YET,
    "truncate_partitioned": NOT_YET,
    "terminate": NOT_YET,
    "terminate_again": NOT_YET,
    "lastMessageId_terminated": NOT_YET,
    "stats_terminated": NOT_YET,
    "internalStats_terminated": NOT_YET,
    "internal_info_terminated": NOT_YET,
    "terminate_empty": NOT_YET,
    "terminate_partitioned": NOT_YET,
    "terminate_partitions": NOT_YET,
    "terminate_partitions_nonpart": NOT_YET,
    "terminate_unknown": NOT_YET,
    "terminate_with_messages": NOT_YET,
    "stats_terminated2": NOT_YET,
    "internalStats_terminated2": NOT_YET,
}
