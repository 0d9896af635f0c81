import pytest

from magnetar.broker.admin.routes.namespace_policies import POLICY_ROUTES
from magnetar.broker.policies import IN_FORCE
from magnetar.model.names import TopicName

NAMESPACE = "/admin/v2/namespaces/public/default"
ALL = "/admin/v2/persistent/public/default"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20}


def test_exactly_what_is_in_force_can_be_set():
    assert {route.name for route in POLICY_ROUTES} == IN_FORCE - {
        "allowed_clusters",
        "replication_clusters",
    }


@pytest.mark.parametrize("policy", POLICY_ROUTES, ids=lambda policy: policy.path)
async def test_a_policy_is_set_shown_and_removed(world, policy):
    path = f"{NAMESPACE}/{policy.path}"
    sent = {
        "retention": RETENTION,
        "autoTopicCreation": {"allowAutoTopicCreation": True, "topicType": "non-partitioned"},
        "autoSubscriptionCreation": {"allowAutoSubscriptionCreation": False},
        "subscriptionTypesEnabled": ["Failover", "Shared"],
        "encryptionRequired": True,
        "schemaCompatibilityStrategy": "FORWARD_TRANSITIVE",
        "schemaAutoUpdateCompatibilityStrategy": "Backward",
        "isAllowAutoUpdateSchema": False,
        "schemaValidationEnforced": True,
    }.get(policy.path, 3)
    before = (await world.ask("GET", path)).text
    assert (await world.ask(policy.verb, path, sent)).status == 204
    assert (await world.ask("GET", path)).json == sent
    if policy.removable:
        assert (await world.ask("DELETE", path)).status == 204
    else:
        unset = b"null" if policy.unset is None else policy.unset
        assert (await world.ask(policy.verb, path, unset)).status == 204
    assert (await world.ask("GET", path)).text == before


async def test_a_namespaces_policies_are_shown_together(world):
    await world.ask("POST", f"{NAMESPACE}/retention", RETENTION)
    await world.ask("POST", f"{NAMESPACE}/maxProducersPerTopic", 3)
    shown = (await world.ask("GET", NAMESPACE)).json
    assert shown["retention_policies"] == RETENTION
    assert shown["max_producers_per_topic"] == 3
    assert shown["backlog_quota_map"] == {}


async def test_a_namespace_may_begin_with_the_policies_that_are_in_force(world):
    await world.ask(
        "PUT", "/admin/v2/tenants/shop", {"adminRoles": [], "allowedClusters": ["standalone"]}
    )
    one = "/admin/v2/namespaces/shop/orders"
    assert (await world.ask("PUT", one, {"retention_policies": RETENTION})).status == 204
    assert (await world.ask("GET", f"{one}/retention")).json == RETENTION
    wrong = {"retention_policies": {"retentionTimeInMinutes": 0, "retentionSizeInMB": 20}}
    refused = await world.ask("PUT", "/admin/v2/namespaces/shop/other", wrong)
    assert refused.status == 412
    assert "Invalid retention policy" in refused.reason
    assert (await world.ask("GET", "/admin/v2/namespaces/shop/other")).status == 404


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("retention", [], 400),
        ("retention", "x", 400),
        ("retention", {"retentionTimeInMinutes": "soon"}, 400),
        ("autoTopicCreation", {"allowAutoTopicCreation": 1}, 400),
        ("subscriptionTypesEnabled", ["Zzz"], 400),
        ("subscriptionTypesEnabled", "Shared", 400),
        ("encryptionRequired", "yes", 400),
        ("maxProducersPerTopic", None, 400),
        ("maxProducersPerTopic", {}, 400),
        ("maxProducersPerTopic", 2**63, 400),
    ],
)
async def test_what_is_no_value_of_a_policy_is_refused(world, path, body, status):
    assert (await world.ask("POST", f"{NAMESPACE}/{path}", body)).status == status


async def test_a_policy_that_is_not_in_force_has_no_route(world):
    for path in ("messageTTL", "backlogQuota", "dispatchRate"):
        assert (await world.ask("POST", f"{NAMESPACE}/{path}", 5)).status in (404, 405)


async def test_a_topic_that_is_open_has_the_policy_when_it_is_answered(world):
    name = TopicName.parse("persistent://public/default/t")
    topic = await world.registry.create(name)
    await world.ask("POST", f"{NAMESPACE}/maxSubscriptionsPerTopic", 1)
    assert (await world.ask("PUT", f"{ALL}/t/subscription/a")).status == 204
    refused = await world.ask("PUT", f"{ALL}/t/subscription/b")
    assert (refused.status, refused.reason) == (
        409,
        f"Exceed the maximum number of subscriptions of the topic: {name}",
    )
    await world.ask("DELETE", f"{NAMESPACE}/maxSubscriptionsPerTopic")
    assert (await world.ask("PUT", f"{ALL}/t/subscription/b")).status == 204
    assert list(topic.subscriptions) == ["a", "b"]
