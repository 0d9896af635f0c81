"""Compaction, unloading, offloading, termination, deletion."""

from golden.admin.groups.shared import TOPICS, leave, listen
from support.loop import until

NO_LEDGER_AHEAD = "no ledger is begun before there is something for it; Pulsar had just begun one"


async def to_be_compacted(world):
    producer = await world.client.create_producer(f"{TOPICS}/comp", batching=False)
    for index in range(12):
        await producer.send(b"v%d" % index, key=f"k{index % 2}")
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
    "compaction_stats": "compaction reads for itself, and is in no count of deliveries",
    "offload_trigger": "it is refused where nothing says where to",
    "offload_status2": "what was refused has not failed",
    "terminate": NO_LEDGER_AHEAD,
    "terminate_again": NO_LEDGER_AHEAD,
    "lastMessageId_terminated": NO_LEDGER_AHEAD,
    "internalStats_terminated": NO_LEDGER_AHEAD,
    "internal_info_terminated": NO_LEDGER_AHEAD,
    "stats_terminated2": "its producer has gone",
}
