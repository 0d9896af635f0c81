import pytest
from unit.broker.admin.world import SilentEnd

from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.model.names import TopicName
from magnetar.model.position import EARLIEST
from magnetar.model.subscriptions import SubscriptionType

NAMESPACE = "/admin/v2/namespaces/public/default"
NAMES = [f"persistent://public/default/t{index}" for index in range(4)]


@pytest.fixture
async def topics(world):
    """Four topics with two messages and the subscriptions a and b."""
    found = []
    for name in NAMES:
        await world.publish(name, 1, 2)
        found.append(await world.topic(name))
        for subscription in ("a", "b"):
            await found[-1].create_subscription(subscription, EARLIEST)
    return found


def backlogs(topics, name):
    return [topic.subscriptions[name].backlog for topic in topics]


async def test_everything_is_acknowledged_for_all(world, topics):
    assert (await world.ask("POST", f"{NAMESPACE}/clearBacklog")).status == 204
    assert backlogs(topics, "a") == backlogs(topics, "b") == [0] * 4


async def test_or_for_the_subscriptions_of_a_name(world, topics):
    assert (await world.ask("POST", f"{NAMESPACE}/clearBacklog/a")).status == 204
    assert (backlogs(topics, "a"), backlogs(topics, "b")) == ([0] * 4, [2] * 4)
    assert (await world.ask("POST", f"{NAMESPACE}/clearBacklog/nobody")).status == 404


async def test_or_in_one_bundle(world, topics):
    ranges = (await world.ask("GET", f"{NAMESPACE}/bundles")).json["boundaries"]
    bundle = await world.resources.bundle(TopicName.parse(NAMES[0]))
    here = [await world.resources.bundle(TopicName.parse(name)) == bundle for name in NAMES]
    await world.registry.unload_bundle(bundle)
    refused = await world.ask("POST", f"{NAMESPACE}/{bundle.range}/clearBacklog")
    assert refused.reason == f"Failed to find ownership for ServiceUnit:{bundle}"
    topics = [await world.topic(name) for name in NAMES]
    assert (await world.ask("POST", f"{NAMESPACE}/{bundle.range}/clearBacklog")).status == 204
    assert [not left for left in backlogs(topics, "b")] == here
    wrong = await world.ask("POST", f"{NAMESPACE}/{ranges[0]}_{ranges[0]}/clearBacklog")
    assert wrong.status == 412


async def test_subscriptions_go_unless_somebody_uses_them(world, topics):
    request = SubscribeRequest(subscription="a", type=SubscriptionType.SHARED, consumer_id=1)
    await topics[1].subscribe(request, SilentEnd())
    refused = await world.ask("POST", f"{NAMESPACE}/unsubscribe/a")
    assert refused.status == 412
    assert str(topics[1].name) in refused.reason
    assert ["a" in topic.subscriptions for topic in topics] == [False, True, False, False]
    assert (await world.ask("POST", f"{NAMESPACE}/unsubscribe/b")).status == 204
    assert not any("b" in topic.subscriptions for topic in topics)


async def test_a_namespace_must_be_there(world):
    where = "/admin/v2/namespaces/public/none"
    for path in ("clearBacklog", "unsubscribe/a", "0x00000000_0xffffffff/unsubscribe/a"):
        assert (await world.ask("POST", f"{where}/{path}")).status == 404
