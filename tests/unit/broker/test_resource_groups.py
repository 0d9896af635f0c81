import asyncio

import pytest

from magnetar.broker.resource_groups import ResourceGroups
from magnetar.errors import NotFound, Refused
from magnetar.model.names import NamespaceName
from magnetar.model.policy_values import ResourceGroup
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.tasks import Tasks

DEFAULT = NamespaceName("public", "default")


@pytest.fixture
async def groups(metadata, resources):
    tasks = Tasks("test")
    groups = ResourceGroups(metadata, resources, tasks, codec=JsonCodec())
    yield groups
    groups.close()
    await tasks.close()


async def test_groups_are_kept_and_changed_limit_by_limit(groups):
    assert await groups.names() == []
    await groups.put("a", ResourceGroup(publish_messages=1))
    await groups.put("a", ResourceGroup(publish_bytes=2))
    await groups.put("b", ResourceGroup())
    assert await groups.names() == ["a", "b"]
    assert await groups.require("a") == ResourceGroup(1, 2)
    await groups.delete("a")
    with pytest.raises(NotFound, match="ResourceGroup does not exist"):
        await groups.require("a")
    with pytest.raises(NotFound):
        await groups.delete("a")


async def test_a_group_that_a_namespace_is_in_stays(groups, resources):
    await groups.put("a", ResourceGroup(publish_messages=1))
    await resources.change_policies(DEFAULT, lambda _: {"resource_group": "a"})
    with pytest.raises(Refused, match="ResourceGroup is in use"):
        await groups.delete("a")
    await resources.change_policies(DEFAULT, lambda _: {"resource_group": None})
    await groups.delete("a")


async def test_changes_at_the_same_time_are_all_kept(groups):
    await asyncio.gather(
        groups.put("a", ResourceGroup(publish_messages=1)),
        groups.put("a", ResourceGroup(publish_bytes=2)),
        groups.put("a", ResourceGroup(dispatch_messages=3)),
    )
    assert await groups.require("a") == ResourceGroup(1, 2, 3)


async def test_who_follows_a_group_is_told_of_it_and_of_each_change(groups):
    told: asyncio.Queue[ResourceGroup | None] = asyncio.Queue()
    following = groups.follow("a", told.put_nowait)
    assert await told.get() is None
    await groups.put("a", ResourceGroup(publish_messages=1))
    assert await told.get() == ResourceGroup(publish_messages=1)
    await groups.put("another", ResourceGroup(publish_messages=2))
    await groups.delete("a")
    assert await told.get() is None
    following.cancel()
    await groups.put("a", ResourceGroup(publish_messages=3))
    assert told.empty()
