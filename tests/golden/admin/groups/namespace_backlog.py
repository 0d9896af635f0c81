"""Backlogs of all topics of a namespace."""

from golden.admin.groups.shared import NOT_OURS, leave


async def consumer_left(world):
    await leave(world, "persistent://golden/quota/t")


BEFORE = {"clearBacklog": consumer_left}
DIFFERENCES = {
    "clearBacklog_sub_unknown": NOT_OURS,
}
