"""What an administrator asks of non-persistent topics, and what only persistent ones can do."""

from itertools import pairwise

import pytest
from unit.broker.admin.world import SilentEnd

from magnetar.broker.topics.subscriptions.consumer import SubscribeRequest
from magnetar.model.subscriptions import SubscriptionType

ALL = "/admin/v2/non-persistent/public/default"
ONE = f"{ALL}/t"
NAME = "non-persistent://public/default/t"


async def connected(world):
    topic = await world.topic(NAME)
    request = SubscribeRequest(subscription="s", type=SubscriptionType.SHARED, consumer_id=1)
    return topic, *await topic.subscribe(request, SilentEnd())


async def test_one_is_created_listed_unloaded_and_gone(world):
    assert (await world.ask("GET", f"{ONE}/stats")).status == 404
    assert (await world.ask("PUT", ONE)).status == 204
    assert (await world.ask("PUT", ONE)).status == 409
    assert (await world.ask("GET", ALL)).json == [NAME]
    assert (await world.ask("GET", "/admin/v2/persistent/public/default")).json == []
    assert (await world.ask("PUT", f"{ONE}/unload")).status == 204
    assert (await world.ask("GET", ALL)).json == []
    assert (await world.ask("GET", f"{ONE}/stats")).reason == f"Topic {NAME} not found"
    assert (await world.ask("PUT", f"{ONE}/unload")).status == 404


async def test_deleting_one_that_nobody_uses_changes_nothing(world):
    assert (await world.ask("DELETE", ONE)).status == 204
    await connected(world)
    refused = await world.ask("DELETE", ONE)
    assert (refused.status, refused.reason) == (412, "Topic has 1 connected producers/consumers")
    assert (await world.ask("DELETE", f"{ONE}?force=true")).status == 204
    assert (await world.ask("GET", ALL)).json == []


async def test_a_partitioned_one_is_kept_and_its_partitions_are_not(world):
    assert (await world.ask("PUT", f"{ONE}/partitions", 2)).status == 204
    assert (await world.ask("PUT", f"{ONE}/partitions", 2)).status == 409
    assert (await world.ask("GET", f"{ONE}/partitions")).json["partitions"] == 2
    assert (await world.ask("GET", f"{ALL}/partitioned")).json == [NAME]
    both = await world.ask("GET", f"{ONE}/partitioned-stats")
    assert set(both.json["partitions"]) == {f"{NAME}-partition-0", f"{NAME}-partition-1"}
    assert both.json["msgDropRate"] == 0
    await world.ask("PUT", f"{ONE}/unload")
    assert (await world.ask("GET", ALL)).json == []
    assert (await world.ask("GET", f"{ONE}/partitions")).json["partitions"] == 2
    assert (await world.ask("POST", f"{ONE}/partitions", 3)).status == 204
    assert (await world.ask("DELETE", ONE)).status == 409
    assert (await world.ask("DELETE", f"{ONE}/partitions")).status == 204
    assert (await world.ask("GET", f"{ONE}/partitions")).status == 404


async def test_stats_tell_who_is_there(world):
    await connected(world)
    stats = (await world.ask("GET", f"{ONE}/stats")).json
    assert stats["subscriptions"]["s"]["isDurable"] is False
    assert stats["subscriptions"]["s"]["msgDropCounter"] == 0
    assert (await world.ask("GET", f"{ONE}/internalStats")).json["entriesAddedCounter"] == 0
    assert (await world.ask("GET", f"{ONE}/subscriptions")).json == ["s"]


async def test_a_subscription_goes_when_its_consumers_are_gone(world):
    topic, subscription, consumer = await connected(world)
    refused = await world.ask("DELETE", f"{ONE}/subscription/s")
    assert (refused.status, refused.reason) == (412, "Subscription has active connected consumers")
    await topic.leave(subscription, consumer)
    assert (await world.ask("GET", f"{ONE}/subscriptions")).json == ["s"]
    assert (await world.ask("DELETE", f"{ONE}/subscription/s")).status == 204
    assert (await world.ask("GET", f"{ONE}/subscriptions")).json == []


async def test_a_list_can_be_of_one_bundle(world):
    await world.ask("PUT", ONE)
    bundles = await world.ask("GET", "/admin/v2/namespaces/public/default/bundles")
    ranges = [f"{low}_{high}" for low, high in pairwise(bundles.json["boundaries"])]
    found = [(await world.ask("GET", f"{ALL}/{each}")).json for each in ranges]
    assert [name for names in found for name in names] == [NAME]
    assert (await world.ask("GET", f"{ALL}/0x00000000_0xffffffff")).status == 412


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PUT", "subscription/s", 400),
        ("POST", "subscription/s/skip_all", 405),
        ("POST", "subscription/s/skip/1", 405),
        ("POST", "subscription/s/expireMessages/1", 405),
        ("POST", "subscription/s/resetcursor/0", 405),
        ("POST", "subscription/s/resetcursor", 405),
        ("GET", "subscription/s/position/1", 405),
        ("GET", "lastMessageId", 405),
        ("GET", "messageid/0", 405),
        ("GET", "internal-info", 405),
        ("PUT", "compaction", 405),
        ("DELETE", "truncate", 412),
        ("POST", "terminate", 406),
        ("GET", "properties", 406),
    ],
)
async def test_what_only_a_persistent_topic_can_do_is_refused(world, method, path, status):
    answer = await world.ask(method, f"{ONE}/{path}")
    assert answer.status == status
    assert "persistent" in answer.reason or "truncate" in answer.reason
