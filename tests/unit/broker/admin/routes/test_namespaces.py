import pytest

ONE = "/admin/v2/namespaces/public/n"


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
        {"persistence": {"bookkeeperEnsemble": 2}},
        {"topicDispatchRate": {"elsewhere": {"dispatchThrottlingRateInMsg": 10}}},
        {"backlog_quota_map": {"some_kind": {"limitSize": 5}}},
        {"clusterDispatchRate": {"standalone": {"dispatchThrottlingRateInMsg": 1}}},
        {"replicatorDispatchRate": {"standalone": {"dispatchThrottlingRateInMsg": 1}}},
        {"offload_threshold": 5},
        {"offload_threshold_in_seconds": 5},
        {"offload_deletion_lag_ms": 5},
        {"dispatcherPauseOnAckStatePersistentEnabled": True},
        {"properties": {"a": "b"}},
        {"allowed_topic_properties_for_metrics": ["a"]},
        {"deleted": True},
        {"migrated": True},
    ],
)
async def test_a_policy_nobody_would_apply_is_refused_by_name(world, policy):
    answer = await world.ask("PUT", ONE, policy)
    assert answer.status == 405
    assert next(iter(policy)) in answer.reason
    assert (await world.ask("GET", ONE)).status == 404


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


@pytest.mark.parametrize(
    "clusters",
    [
        {"replication_clusters": ["remote"]},
        {"replication_clusters": ["standalone", "remote"]},
        {"allowed_clusters": ["standalone", "remote"]},
    ],
)
async def test_nothing_is_replicated_to_other_clusters(world, clusters):
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    tenant = {"adminRoles": [], "allowedClusters": ["standalone", "remote"]}
    assert (await world.ask("POST", "/admin/v2/tenants/public", tenant)).status == 204
    answer = await world.ask("PUT", ONE, clusters)
    assert answer.status == 405
    assert "standalone alone" in answer.reason
    assert (await world.ask("GET", ONE)).status == 404
    assert (await world.ask("PUT", ONE, {"allowed_clusters": ["standalone"]})).status == 204


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
