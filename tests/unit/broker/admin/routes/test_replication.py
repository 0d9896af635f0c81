"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

NAMESPACE = "/admin/v2/namespaces/public/default"
TOPIC = "/admin/v2/persistent/public/default/t"
SHADOWS = "/admin/v2/persistent/public/default/t/shadowTopics"


@pytest.mark.parametrize(
    "path", [f"{NAMESPACE}/replication", f"{NAMESPACE}/allowedClusters", f"{TOPIC}/replication"]
)
async def test_another_cluster_is_named_beside_this_one(world, path):
    await world.topic("persistent://public/default/t")
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    both = ["remote", "standalone"]
    if not path.startswith(TOPIC):
        assert (await world.ask("POST", path, both)).status == 403  # The tenant may not.
    await world.ask("POST", "/admin/v2/tenants/public", {"adminRoles": [], "allowedClusters": both})
    kept = await world.ask("POST", path, both)
    assert kept.status in (200, 204)
    assert "X-Magnetar-Without-Effect" not in kept.headers
    assert (await world.ask("GET", path)).json == both
    assert (await world.ask("POST", path, ["remote"])).status in (400, 405, 412)
    await world.ask("POST", path, ["standalone"])
    assert (await world.ask("GET", path)).json == ["standalone"]


async def test_a_namespace_goes_where_it_is_allowed_to(world):
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    both = ["remote", "standalone"]
    await world.ask("POST", "/admin/v2/tenants/public", {"adminRoles": [], "allowedClusters": both})
    await world.ask("POST", f"{NAMESPACE}/allowedClusters", ["standalone"])
    assert (await world.ask("POST", f"{NAMESPACE}/replication", both)).status == 400


async def test_a_namespace_of_several_clusters_is_not_deleted(world):
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    both = ["remote", "standalone"]
    await world.ask("POST", "/admin/v2/tenants/public", {"adminRoles": [], "allowedClusters": both})
    await world.ask("POST", f"{NAMESPACE}/replication", both)
    refused = await world.ask("DELETE", NAMESPACE)
    assert (refused.status, "more than one replication clusters" in refused.reason) == (412, True)
    await world.ask("POST", f"{NAMESPACE}/replication", ["standalone"])
    assert (await world.ask("DELETE", NAMESPACE)).status == 204


@pytest.mark.parametrize("sent", [{}, "standalone", [[5]]])
async def test_what_is_no_list_of_clusters_is_refused(world, sent):
    for path in ("replication", "allowedClusters"):
        assert (await world.ask("POST", f"{NAMESPACE}/{path}", sent)).status == 400


async def test_a_shadow_of_a_topic_is_refused_by_name(world):
    await world.topic("persistent://public/default/t")
    await world.topic("persistent://public/default/s")
    refused = await world.ask("PUT", SHADOWS, ["persistent://public/default/s"])
    assert (refused.status, "shadow topics" in refused.reason) == (405, True)
    assert (await world.ask("PUT", SHADOWS, [])).status == 204
    assert (await world.ask("PUT", SHADOWS, ["nowhere://a/b"])).status == 412
    assert (await world.ask("GET", SHADOWS)).text == ""
    assert (await world.ask("DELETE", SHADOWS)).status == 204


async def test_a_missing_topic_is_named(world):
    for method in ("GET", "PUT", "DELETE"):
        answer = await world.ask(method, SHADOWS, [] if method == "PUT" else None)
        assert answer.reason == "Topic persistent://public/default/t not found"
