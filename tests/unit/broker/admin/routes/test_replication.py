"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

NAMESPACE = "/admin/v2/namespaces/public/default"
TOPIC = "/admin/v2/persistent/public/default/t"
SHADOWS = "/admin/v2/persistent/public/default/t/shadowTopics"


@pytest.mark.parametrize(
    "path", [f"{NAMESPACE}/replication", f"{NAMESPACE}/allowedClusters", f"{TOPIC}/replication"]
)
async def test_another_cluster_is_kept_and_named_as_without_effect(world, path, caplog):
    await world.topic("persistent://public/default/t")
    await world.ask("PUT", "/admin/v2/clusters/remote", {"serviceUrl": "http://remote:8080"})
    both = ["remote", "standalone"]
    await world.ask("POST", "/admin/v2/tenants/public", {"adminRoles": [], "allowedClusters": both})
    kept = await world.ask("POST", path, both)
    assert kept.status in (200, 204)
    assert kept.headers["X-Magnetar-Without-Effect"] == path.rpartition("/")[2]
    [said] = [each.getMessage() for each in caplog.records if "without_effect" in each.msg]
    assert f"{path}={path.rpartition('/')[2]} is kept and shown" in said
    assert (await world.ask("GET", path)).json == both
    assert (await world.ask("POST", path, ["remote"])).status in (400, 405, 412)
    alone = await world.ask("POST", path, ["standalone"])
    assert "X-Magnetar-Without-Effect" not in alone.headers
    assert (await world.ask("GET", path)).json == ["standalone"]


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
