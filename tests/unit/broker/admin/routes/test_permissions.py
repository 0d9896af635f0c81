"""The answers are in tests/golden/admin; here is what was not recorded."""

import pytest
from unit.broker.admin.world import open_world

NAMESPACE = "/admin/v2/namespaces/public/default"
TOPIC = "/admin/v2/persistent/public/default/orders"
ALL = "/admin/v2/namespaces"
NAME = "persistent://public/default/orders"


@pytest.fixture
async def world():
    async with open_world() as opened:
        await opened.ask("PUT", TOPIC)
        yield opened


async def test_a_topic_shows_what_its_namespace_grants_too(world):
    await world.ask("POST", f"{NAMESPACE}/permissions/bob", ["consume"])
    await world.ask("POST", f"{TOPIC}/permissions/bob", ["produce", "consume"])
    await world.ask("POST", f"{TOPIC}/permissions/a%2Fb%2Bc", ["produce"])
    assert (await world.ask("GET", f"{TOPIC}/permissions")).json == {
        "bob": ["consume", "produce"],
        "a/b+c": ["produce"],
    }
    assert (await world.ask("GET", f"{NAMESPACE}/permissions")).json == {"bob": ["consume"]}
    assert (await world.ask("DELETE", f"{TOPIC}/permissions/a%2Fb%2Bc")).status == 204
    assert list((await world.ask("GET", f"{TOPIC}/permissions")).json) == ["bob"]


async def test_a_partitioned_topic_that_goes_takes_what_was_granted_along(world):
    await world.ask("PUT", f"{TOPIC}-p/partitions", b"2")
    await world.ask("POST", f"{TOPIC}-p/permissions/bob", ["produce"])
    await world.ask("POST", f"{TOPIC}-p-partition-1/permissions/bob", ["consume"])
    assert (await world.ask("DELETE", f"{TOPIC}-p/partitions")).status == 204
    await world.ask("PUT", f"{TOPIC}-p/partitions", b"2")
    for name in ("p", "p-partition-1"):
        assert (await world.ask("GET", f"{TOPIC}-{name}/permissions")).json == {}


async def test_a_topic_that_goes_takes_what_was_granted_along(world):
    await world.ask("POST", f"{TOPIC}/permissions/bob", ["produce"])
    await world.ask("DELETE", TOPIC)
    await world.ask("PUT", TOPIC)
    assert (await world.ask("GET", f"{TOPIC}/permissions")).json == {}


async def test_revoking_on_a_partitioned_topic_reaches_its_partitions(world):
    await world.ask("PUT", f"{TOPIC}-p/partitions", b"2")
    await world.ask("POST", f"{TOPIC}-p-partition-1/permissions/bob", ["consume"])
    assert (await world.ask("DELETE", f"{TOPIC}-p/permissions/bob")).status == 204
    assert (await world.ask("GET", f"{TOPIC}-p-partition-1/permissions")).json == {}


@pytest.mark.parametrize(
    "sent",
    [
        None,
        [],
        {"topic": NAME},
        ["x"],
        [{"topic": NAME, "role": [3], "actions": ["produce"]}],
        [{"topic": NAME, "role": "bob", "actions": ["fly"]}],
        [{"topic": NAME, "role": "bob"}],
        [
            {"topic": NAME, "role": "bob", "actions": []},
            {"topic": "public/other/t", "role": "bob", "actions": []},
        ],
    ],
)
async def test_what_is_no_list_of_permissions_is_refused(world, sent):
    assert (await world.ask("POST", f"{ALL}/grantPermissionsOnTopics", sent)).status == 400


async def test_a_topic_of_a_list_must_have_a_name(world):
    sent = [{"topic": "a/b", "role": "bob", "actions": []}]
    answer = await world.ask("POST", f"{ALL}/grantPermissionsOnTopics", sent)
    assert answer.status == 412


async def test_several_topics_at_once(world):
    await world.ask("PUT", f"{TOPIC}-2")
    names = [NAME, f"{NAME}-2"]
    sent = [{"topic": name, "role": "bob", "actions": ["produce"]} for name in names]
    assert (await world.ask("POST", f"{ALL}/grantPermissionsOnTopics", sent)).status == 204
    for path in (TOPIC, f"{TOPIC}-2"):
        assert (await world.ask("GET", f"{path}/permissions")).json == {"bob": ["produce"]}
    sent = [{"topic": name, "role": "bob"} for name in names]
    assert (await world.ask("POST", f"{ALL}/revokePermissionsOnTopics", sent)).status == 204
    assert (await world.ask("GET", f"{TOPIC}/permissions")).json == {}


@pytest.mark.parametrize("body", [b"null", b""])
async def test_roles_of_a_subscription_must_be_given(world, body):
    answer = await world.ask("POST", f"{NAMESPACE}/permissions/subscription/s", body)
    assert (answer.status, answer.reason) == (400, "Roles should not be null")


async def test_a_new_namespace_grants_at_once_but_nothing_that_there_is_not(world):
    granted = {"auth_policies": {"namespace_auth": {"bob": ["produce"]}}}
    assert (await world.ask("PUT", f"{ALL}/public/new", granted)).status == 204
    assert (await world.ask("GET", f"{ALL}/public/new/permissions")).json == {"bob": ["produce"]}
    for wrong in ({"subscription_auth_mode": "Zzz"}, {"auth_policies": {"namespace_auth": []}}):
        assert (await world.ask("PUT", f"{ALL}/public/other", wrong)).status == 400
