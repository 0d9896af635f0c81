"""What becomes of a topic whose backlog has grown beyond its quota."""

from golden.admin.groups.shared import listen

from magnetar import SubscriptionType

TOPIC = "persistent://golden/quota/t"
QUOTA = {"limitSize": 5000, "limitTime": -1, "policy": "producer_exception"}


async def filled(world):
    await world.make(
        ("PUT", "namespaces/golden/quota", None),
        ("POST", "namespaces/golden/quota/backlogQuota", QUOTA),
    )
    await listen(world, TOPIC, "s", type=SubscriptionType.EXCLUSIVE)
    world.kept["quota"] = await world.send(TOPIC, *(bytes(500) for _ in range(20)))


async def checked(world):
    await world.make(("GET", "brokers/backlog-quota-check", None))


BEFORE = {"stats_before": filled, "stats_after_check": checked}
DIFFERENCES = {
    "stats_before": "two of the messages were on their way in the recording",
}
