import pytest
from unit.broker.admin.world import SilentEnd

ONE = "/admin/v2/namespaces/public/n"
PERSISTENCE = {
    "bookkeeperEnsemble": 2,
    "bookkeeperWriteQuorum": 2,
    "bookkeeperAckQuorum": 1,
    "managedLedgerMaxMarkDeleteRate": 1.5,
}
RATE = {
    "dispatchThrottlingRateInMsg": 1,
    "dispatchThrottlingRateInByte": 2,
    "relativeToPublishRate": False,
    "ratePeriodInSecond": 1,
}


async def test_a_namespace_comes_and_goes(world):
    assert (await world.ask("PUT", ONE)).status == 204
    assert "public/n" in (await world.ask("GET", "/admin/v2/namespaces/public")).json
    shown = (await world.ask("GET", ONE)).json
    assert shown["replication_clusters"] == ["standalone"]
    assert shown["bundles"]["numBundles"] == 4
    assert (await world.ask("DELETE", ONE)).status == 204
    assert (await world.ask("GET", ONE)).reason == "Namespace does not exist"


async def test_bundles_are_those_asked_for(world):
    await world.ask("PUT", ONE, {"bundles": {"numBundles": 2}})
    bundles = (await world.ask("GET", f"{ONE}/bundles")).json
    assert bundles == {"boundaries": ["0x00000000", "0x80000000", "0xffffffff"], "numBundles": 2}


@pytest.mark.parametrize("count", [4097, 2**31])
async def test_too_many_bundles_are_refused(world, count):
    answer = await world.ask("PUT", ONE, {"bundles": {"numBundles": count}})
    assert answer.status == 412
    assert "1 to 4096 bundles" in answer.reason


@pytest.mark.parametrize(
    "policy",
    [
        {"topicDispatchRate": {"elsewhere": {"dispatchThrottlingRateInMsg": 10}}},
        {"backlog_quota_map": {"some_kind": {"limitSize": 5}}},
        {"deleted": True},
    ],
)
async def test_a_policy_that_cannot_be_kept_is_refused_by_name(world, policy):
    answer = await world.ask("PUT", ONE, policy)
    assert answer.status == 405
    assert next(iter(policy)) in answer.reason
    assert (await world.ask("GET", ONE)).status == 404


@pytest.mark.parametrize(
    "policy",
    [
        {"persistence": PERSISTENCE},
        {"clusterDispatchRate": {"standalone": RATE}},
        {"offload_threshold": 5},
        {"dispatcherPauseOnAckStatePersistentEnabled": True},
        {"allowed_topic_properties_for_metrics": ["a"]},
        {"migrated": True},
    ],
)
async def test_a_policy_nobody_applies_is_kept_and_named(world, policy):
    answer = await world.ask("PUT", ONE, policy)
    [key] = policy
    assert (answer.status, answer.headers["X-Magnetar-Without-Effect"]) == (204, key)
    assert (await world.ask("GET", ONE)).json[key] == policy[key]


async def test_properties_are_kept(world):
    answer = await world.ask("PUT", ONE, {"properties": {"a": "b"}})
    assert "X-Magnetar-Without-Effect" not in answer.headers
    assert (await world.ask("GET", ONE)).json["properties"] == {"a": "b"}


async def test_policies_that_ask_for_nothing_are_fine(world):
    """As administrators' clients send them when somebody only asks for bundles."""
    untouched = {
        "auth_policies": {"namespace_auth": {}, "destination_auth": {}},
        "subscription_auth_mode": "None",
        "allowed_clusters": [],
        "replication_clusters": ["standalone"],
        "deleted": False,
        "backlog_quota_map": {},
        "retention_policies": None,
        "message_ttl_in_seconds": 0,
        "offload_threshold": -1,
        "schema_compatibility_strategy": "FULL",
        "encryption_required": False,
        "is_allow_auto_update_schema": True,
    }
    assert (await world.ask("PUT", ONE, untouched)).status == 204


async def test_other_clusters_are_kept_beside_this_one(world):
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    tenant = {"adminRoles": [], "allowedClusters": ["standalone", "remote"]}
    assert (await world.ask("POST", "/admin/v2/tenants/public", tenant)).status == 204
    refused = await world.ask("PUT", ONE, {"replication_clusters": ["remote"]})
    assert (refused.status, "leave standalone among" in refused.reason) == (405, True)
    assert (await world.ask("GET", ONE)).status == 404
    both = ["remote", "standalone"]
    kept = await world.ask("PUT", ONE, {"replication_clusters": both, "allowed_clusters": both})
    assert (kept.status, "X-Magnetar-Without-Effect" in kept.headers) == (204, False)
    assert (await world.ask("GET", f"{ONE}/replication")).json == both


async def test_the_topics_of_a_namespace_are_listed_by_mode(world):
    await world.topic("persistent://public/default/b")
    await world.topic("persistent://public/default/a/x")
    both = ["persistent://public/default/a/x", "persistent://public/default/b"]
    topics = "/admin/v2/namespaces/public/default/topics"
    for query in ("", "?mode=ALL", "?mode=PERSISTENT"):
        assert (await world.ask("GET", topics + query)).json == both
    assert (await world.ask("GET", f"{topics}?mode=NON_PERSISTENT")).json == []
    passing = "non-persistent://public/default/c"
    await world.ask("PUT", "/admin/v2/non-persistent/public/default/c")
    assert (await world.ask("GET", topics)).json == both
    assert (await world.ask("GET", f"{topics}?mode=NON_PERSISTENT")).json == [passing]
    assert (await world.ask("GET", f"{topics}?mode=ALL")).json == [passing, *both]
    assert (await world.ask("GET", f"{topics}?mode=all")).status == 404


async def test_a_namespace_with_topics_stays(world):
    await world.topic("persistent://public/default/b")
    answer = await world.ask("DELETE", "/admin/v2/namespaces/public/default")
    assert (answer.status, answer.reason) == (409, "Cannot delete non empty namespace")
    await world.ask("DELETE", "/admin/v2/persistent/public/default/b")
    assert (await world.ask("DELETE", "/admin/v2/namespaces/public/default")).status == 204


async def test_an_administrator_s_first_topic_needs_its_namespace(world):
    answer = await world.ask("PUT", "/admin/v2/persistent/public/none/x")
    assert (answer.status, answer.reason) == (404, "Namespace not found")


async def allow_force(world, what):
    path = f"/admin/v2/brokers/configuration/forceDelete{what}Allowed/true"
    assert (await world.ask("POST", path)).status == 200


async def test_a_namespace_is_deleted_by_force_with_all_its_topics(world):
    await world.ask("PUT", ONE)
    await world.publish("persistent://public/n/a", 1)
    await world.ask("PUT", "/admin/v2/persistent/public/n/p/partitions", 2)
    await world.ask("PUT", "/admin/v2/non-persistent/public/n/c")
    for used in ("a", "p-partition-1"):
        topic = await world.topic(f"persistent://public/n/{used}")
        await topic.attach_producer(SilentEnd(), 1, used)
    assert (await world.ask("DELETE", f"{ONE}?force=true")).status == 405
    await allow_force(world, "Namespace")
    assert (await world.ask("DELETE", ONE)).status == 409
    assert (await world.ask("DELETE", f"{ONE}?force=true")).status == 204
    assert (await world.ask("GET", ONE)).status == 404
    assert not [name for name in world.registry.loaded if name.namespace_local == "n"]
    await world.ask("PUT", ONE)
    assert (await world.ask("GET", f"{ONE}/topics?mode=ALL")).json == []
    missing = await world.ask("DELETE", "/admin/v2/namespaces/public/nope?force=true")
    assert (missing.status, missing.reason) == (404, "Namespace public/nope does not exist.")
