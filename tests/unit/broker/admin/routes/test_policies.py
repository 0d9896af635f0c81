import os
import subprocess
import sys
from pathlib import Path

import pytest
from unit.broker.admin.world import open_world

from magnetar.broker.settings.policies import PolicySettings
from magnetar.model.names import TopicName
from magnetar.model.policies import ROWS
from magnetar.model.policy_rows import Level

NAMESPACE = "/admin/v2/namespaces/public/default"
ALL = "/admin/v2/persistent/public/default"
RETENTION = {"retentionTimeInMinutes": 10, "retentionSizeInMB": 20}


NOT_TO_BE_SET = {"entry_filters"}
OFFERED = {
    level: [
        row
        for row in ROWS.values()
        if (at := row.at(level)) and at.path and not at.own_routes and row.name not in NOT_TO_BE_SET
    ]
    for level in (Level.NAMESPACE, Level.TOPIC)
}
RATE = {
    "dispatchThrottlingRateInMsg": 10,
    "dispatchThrottlingRateInByte": 1000,
    "relativeToPublishRate": True,
    "ratePeriodInSecond": 2,
}
SENT = {
    "dispatch_rate": RATE,
    "subscription_dispatch_rate": RATE,
    "publish_rate": {"publishThrottlingRateInMsg": 10, "publishThrottlingRateInByte": 1000},
    "subscribe_rate": {"subscribeThrottlingRatePerConsumer": 5, "ratePeriodInSecond": 10},
    "retention": RETENTION,
    "auto_topic_creation": {"allowAutoTopicCreation": True, "topicType": "non-partitioned"},
    "auto_subscription_creation": {"allowAutoSubscriptionCreation": False},
    "subscription_types": ["Failover", "Shared"],
    "delayed_delivery": {"tickTime": 2000, "active": True, "maxDeliveryDelayInMillis": 60000},
    "deduplication": True,
    "encryption_required": True,
    "schema_compatibility": "FORWARD_TRANSITIVE",
    "schema_auto_update": "Backward",
    "schema_auto_update_allowed": False,
    "schema_validation_enforced": True,
    "replicator_dispatch_rate": RATE,
    "dispatch_pauses_on_ack_state": True,
    "persistence": {
        "bookkeeperEnsemble": 2,
        "bookkeeperWriteQuorum": 2,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 1.5,
    },
    "inactive_topics": {
        "inactiveTopicDeleteMode": "delete_when_subscriptions_caught_up",
        "maxInactiveDurationSeconds": 30,
        "deleteWhileInactive": True,
    },
}


def test_what_is_in_force_can_be_set():
    offered = {row.name for rows in OFFERED.values() for row in rows}
    assert offered >= {name for name, row in ROWS.items() if row.acts} - {
        "allowed_clusters",
        "auth",  # test_permissions.py, as is subscription_auth_mode
        "subscription_auth_mode",
        "backlog_quota_age",  # test_backlog_quotas.py
        "backlog_quota_size",
        "offload",  # test_offload.py
        "properties",  # test_namespace_properties.py
        "of_subscriptions",  # test_subscription_dispatch_rate.py
        "resource_group",  # test_resource_groups.py
        "replication_clusters",
    }


async def set_shown_and_removed(world, row, offer, path):
    sent = SENT.get(row.name, 3)
    before = (await world.ask("GET", path)).text
    if not offer.parameter:
        assert (await world.ask(offer.method, path, sent)).status == 204
    else:
        assert (await world.ask(offer.method, f"{path}?{offer.parameter}={sent}")).status == 204
    assert (await world.ask("GET", path)).json == sent
    if offer.removable:
        assert (await world.ask("DELETE", path)).status == 204
    else:
        unset = b"null" if offer.unset is None else offer.unset
        assert (await world.ask(offer.method, path, unset)).status == 204
    assert (await world.ask("GET", path)).text == before


@pytest.mark.parametrize("row", OFFERED[Level.NAMESPACE], ids=lambda row: row.name)
async def test_a_policy_of_a_namespace_is_set_shown_and_removed(world, row):
    path = f"{NAMESPACE}/{row.namespace.path}"
    await set_shown_and_removed(world, row, row.namespace, path)


@pytest.mark.parametrize("row", OFFERED[Level.TOPIC], ids=lambda row: row.name)
async def test_a_policy_of_a_topic_is_set_shown_and_removed(world, row):
    await world.topic("persistent://public/default/t")
    await set_shown_and_removed(world, row, row.topic, f"{ALL}/t/{row.topic.path}")


async def test_what_holds_for_a_topic_is_shown_whoever_set_it(world):
    await world.topic("persistent://public/default/t")
    path = f"{ALL}/t/maxProducers"
    shown = []
    for method, where in (
        ("GET", path),
        ("POST", f"{NAMESPACE}/maxProducersPerTopic"),
        ("POST", f"{path}?isGlobal=true"),
        ("POST", path),
        ("DELETE", f"{ALL}/t/policies"),
    ):
        assert (await world.ask(method, where, len(shown) + 1)).status in (200, 204)
        shown.append((await world.ask("GET", f"{path}?applied=true")).json)
    assert shown == [0, 2, 3, 4, 2]
    assert (await world.ask("GET", f"{path}?isGlobal=true")).text == ""


async def test_a_topic_cannot_have_policies_where_they_are_switched_off():
    async with open_world(PolicySettings(system_topics=False)) as world:
        await world.topic("persistent://public/default/t")
        for method, path in (
            ("GET", "maxProducers"),
            ("POST", "maxProducers"),
            ("DELETE", "maxProducers"),
            ("DELETE", "policies"),
        ):
            refused = await world.ask(method, f"{ALL}/t/{path}", 3)
            assert refused.status == 405
            assert refused.reason == (
                "Topic level policies is disabled, to disable the topic level policy and retry."
            )


async def test_a_topic_that_is_made_again_has_the_policies_of_its_namespace(world):
    await world.topic("persistent://public/default/t")
    await world.ask("POST", f"{ALL}/t/maxProducers", 3)
    assert (await world.ask("DELETE", f"{ALL}/t")).status == 204
    await world.topic("persistent://public/default/t")
    assert (await world.ask("GET", f"{ALL}/t/maxProducers")).text == ""
    assert (await world.ask("GET", f"{ALL}/t/maxProducers?applied=true")).json == 0


async def test_the_policies_of_a_partitioned_topic_go_with_it_and_not_with_a_partition(world):
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    await world.ask("POST", f"{ALL}/p/maxProducers", 3)
    await world.ask("DELETE", f"{ALL}/p-partition-1")
    assert (await world.ask("GET", f"{ALL}/p/maxProducers")).json == 3
    await world.ask("DELETE", f"{ALL}/p/partitions")
    await world.ask("PUT", f"{ALL}/p/partitions", 2)
    assert (await world.ask("GET", f"{ALL}/p/maxProducers")).text == ""


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
        ("autoTopicCreation", {"allowAutoTopicCreation": 1.5}, 400),
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


async def test_a_policy_that_is_not_in_force_is_kept_and_named(world):
    copies = {
        "bookkeeperEnsemble": 1,
        "bookkeeperWriteQuorum": 1,
        "bookkeeperAckQuorum": 1,
        "managedLedgerMaxMarkDeleteRate": 1.0,
    }
    kept = await world.ask("POST", f"{NAMESPACE}/persistence", copies)
    assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "persistence")
    for answer in (
        await world.ask("DELETE", f"{NAMESPACE}/persistence"),
        await world.ask("POST", f"{NAMESPACE}/dispatchRate", RATE),
    ):
        assert "X-Magnetar-Without-Effect" not in answer.headers


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


def test_a_new_policy_is_one_row():
    script = Path(__file__).parents[1] / "one_more_policy.py"
    tests = str(Path(__file__).parents[4])
    subprocess.run(
        [sys.executable, str(script)], env={**os.environ, "PYTHONPATH": tests}, check=True
    )


async def test_what_holds_is_shown_with_who_set_it(world):
    await world.topic("persistent://public/default/t")
    await world.ask("POST", f"{NAMESPACE}/messageTTL", 60)
    await world.ask(
        "POST", f"{ALL}/t/backlogQuota", {"limitSize": 9, "policy": "producer_exception"}
    )

    async def shown(where):
        groups = (await world.ask("GET", f"{where}/policies")).json
        return {each["label"]: each for group in groups for each in group["policies"]}

    of_namespace, of_topic = await shown(NAMESPACE), await shown(f"{ALL}/t")
    ttl = of_topic["Time to live"]
    assert (ttl["value"], ttl["level"], ttl["removable"]) == (60, "namespace", False)
    assert (ttl["method"], ttl["parameter"]) == ("POST", "messageTTL")
    assert of_namespace["Time to live"]["removable"]
    quota = of_topic["Backlog quota by size"]
    assert (quota["value"]["limitSize"], quota["level"]) == (9, "topic")
    assert quota["path"] == "backlogQuota?backlogQuotaType=destination_storage"
    assert of_namespace["Backlog quota by size"]["level"] == "broker"
    assert of_namespace["Compaction"]["method"] == "PUT"
    assert "Message size" not in of_namespace
    assert of_topic["Message size"]["value"] == world.admin.topics.message_size_max
    assert of_topic["Schema compatibility"]["value"] == "FULL"
    assert not [each for each in of_topic.values() if each["path"] == "entryFilters"]
