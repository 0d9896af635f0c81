import pytest

from magnetar.broker.authorization.permissions import (
    Permissions,
    TopicGrant,
    actions_in,
    check,
    mode_in,
)
from magnetar.broker.resources import Resources
from magnetar.errors import InvalidValue, NamespaceNotFound, SubscriptionNotFound
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.policy_values import AuthPolicies
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.metadata.memory import MemoryMetadataStore

NAMESPACE = NamespaceName("public", "default")
ORDERS = TopicName.parse("persistent://public/default/orders")


@pytest.fixture
async def resources():
    opened = Resources(MemoryMetadataStore(), codec=JsonCodec())
    await opened.ensure_defaults("standalone", "http://a", "pulsar://a")
    yield opened
    opened.close()


async def stored(resources):
    found = await resources.namespace(NAMESPACE)
    return found.policies.auth or AuthPolicies()


async def test_a_grant_takes_the_place_of_the_one_before(resources):
    permissions = Permissions(resources)
    await permissions.grant(NAMESPACE, "bob", ("produce", "consume"))
    await permissions.grant(NAMESPACE, "eve", ("consume",))
    await permissions.grant(NAMESPACE, "bob", ("produce",))
    assert (await stored(resources)).namespace == {"bob": ["produce"], "eve": ["consume"]}
    await permissions.revoke(NAMESPACE, "bob")
    await permissions.revoke(NAMESPACE, "who")
    assert (await stored(resources)).namespace == {"eve": ["consume"]}


async def test_the_last_role_of_a_topic_takes_its_entry_with_it(resources):
    permissions = Permissions(resources)
    await permissions.grant_on_topics(
        [TopicGrant(ORDERS, "bob", ("produce",)), TopicGrant(ORDERS, "eve", ("consume",))]
    )
    await permissions.revoke_on_topics([TopicGrant(ORDERS, "bob"), TopicGrant(ORDERS, "who")])
    assert (await stored(resources)).topics == {str(ORDERS): {"eve": ["consume"]}}
    await permissions.revoke_on_topics([TopicGrant(ORDERS, "eve")])
    assert (await stored(resources)).topics == {}


async def test_a_topic_that_is_deleted_leaves_no_permission_to_the_next(resources):
    permissions = Permissions(resources)
    await permissions.grant_on_topics([TopicGrant(ORDERS, "bob", ("produce",))])
    await permissions.topic_deleted(ORDERS)
    await permissions.topic_deleted(ORDERS)
    assert (await stored(resources)).topics == {}


async def test_the_last_role_of_a_subscription_takes_its_list_with_it(resources):
    permissions = Permissions(resources)
    await permissions.grant_subscription(NAMESPACE, "s", ["b", "a", "a"])
    assert (await stored(resources)).subscriptions == {"s": ["a", "b"]}
    for role in ("a", "b"):
        await permissions.revoke_subscription(NAMESPACE, "s", role)
    assert (await stored(resources)).subscriptions == {}
    with pytest.raises(SubscriptionNotFound):
        await permissions.revoke_subscription(NAMESPACE, "s", "b")


async def test_a_namespace_must_exist(resources):
    with pytest.raises(NamespaceNotFound):
        await Permissions(resources).grant(NamespaceName("public", "nope"), "bob", ("produce",))


def test_actions_come_in_one_order_and_once():
    assert actions_in(["consume", "produce", "consume"]) == ("produce", "consume")
    assert actions_in([]) == ()


@pytest.mark.parametrize("value", [None, "produce", ["fly"], [None], {"produce": 1}, [["a"]], [{}]])
def test_what_is_no_action_is_refused(value):
    with pytest.raises(InvalidValue, match="actions are a list of produce, consume"):
        actions_in(value)


@pytest.mark.parametrize("value", ["Zzz", "prefix", 1, ["Prefix"], {}])
def test_what_is_no_mode_is_refused(value):
    with pytest.raises(InvalidValue, match="None or Prefix"):
        mode_in(value)


@pytest.mark.parametrize(
    "value",
    [
        {"subscription_auth_mode": "Zzz"},
        {"auth_policies": {"namespace_auth": {"bob": ["fly"]}}},
        {"auth_policies": {"destination_auth": {str(ORDERS): {"bob": "produce"}}}},
        {"auth_policies": {"destination_auth": {str(ORDERS): "bob"}}},
        {"auth_policies": {"namespace_auth": ["bob"]}},
        {"auth_policies": {"subscription_auth_roles": {"s": "bob"}}},
        {"auth_policies": "all"},
    ],
)
def test_a_new_namespace_grants_only_what_there_is(value):
    with pytest.raises(InvalidValue):
        check(value)


def test_a_new_namespace_may_grant_something():
    check(
        {
            "subscription_auth_mode": "Prefix",
            "auth_policies": {
                "namespace_auth": {"bob": ["produce"]},
                "destination_auth": {str(ORDERS): {"bob": ["consume"]}},
                "subscription_auth_roles": {"s": ["bob"]},
            },
        }
    )
    check({})
