"""Topics that keep no messages."""

from golden.admin.groups.shared import NOT_OURS, listen

TOPIC = "non-persistent://golden/np/t1"


async def passing_topic(world):
    await world.make(("PUT", "namespaces/golden/np", None))
    await listen(world, TOPIC, "s1")
    await world.send(TOPIC, *(b"m%d" % index for index in range(4)), name="npp")


async def consumer_left(world):
    await world.kept.pop(TOPIC).close()


BEFORE = {"stats": passing_topic, "delete_sub_active": consumer_left}
DIFFERENCES = {
    "skip_all": "it keeps no messages to go to, which is not answered with yes",
    "skip": "it keeps no messages to go to, which is not answered with yes",
    "resetcursor": "it keeps no messages to go to, which is not answered with yes",
    "compaction": NOT_OURS,
    "internal_info": NOT_OURS,
}
