"""Stats of topics."""

from golden.admin.groups.shared import NOT_YET, TOPICS, listen

from magnetar import SubscriptionType


async def types(world):
    """A topic with consumers of several types."""
    await world.send(f"{TOPICS}/data2", *(b"x" for _ in range(15)), name="prod-2")


async def delayed(world):
    await listen(world, f"{TOPICS}/delayed", "sub-dl", type=SubscriptionType.SHARED)
    producer = await world.send(f"{TOPICS}/delayed", b"now", name="dl-1")
    await producer.send(b"later", deliver_after_s=3600)


BEFORE = {"stats_types": types, "stats_delayed": delayed}
DIFFERENCES = {
    "stats_idle": NOT_YET,
    "stats_partition": NOT_YET,
    "partitioned_stats": NOT_YET,
    "partitioned_internalStats": NOT_YET,
    "partitioned_internalStats_nonpart": NOT_YET,
    "internal_info": NOT_YET,
    "internal_info_unknown": NOT_YET,
    "internal_info_partitioned": NOT_YET,
    "backlogSize": NOT_YET,
    "backlogSize_earliest": NOT_YET,
    "backlogSize_unknown": NOT_YET,
    "backlogSize_no_body": NOT_YET,
    "stats_types": NOT_YET,
    "stats_types_precise": NOT_YET,
    "internalStats_types": NOT_YET,
    "stats_delayed": NOT_YET,
    "internalStats_delayed": NOT_YET,
    "backlog_offline_estimate": NOT_YET,
}
