"""Stats of topics."""

from golden.admin.groups.shared import NOT_OURS, TOPICS, listen

from magnetar import SubscriptionType

NO_DATES = "the metadata store notes no dates and counts its own versions"
LENGTHS = "an entry is a few bytes shorter here, for its checksum is kept beside it"
NINE_CONSUMERS = "its consumers are not played; unit/broker/admin/test_stats.py has their fields"


async def types(world):
    """A topic with consumers of several types."""
    await world.send(f"{TOPICS}/data2", *(b"x" for _ in range(15)), name="prod-2")


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
    "stats_types": NINE_CONSUMERS,
    "stats_types_precise": NINE_CONSUMERS,
    "internalStats_types": NINE_CONSUMERS,
    "internalStats_delayed": ("a cursor that waits for entries has no read of its own that waits"),
    "backlog_offline_estimate": ("there is no topic of the name, so that nothing is made up of it"),
}
