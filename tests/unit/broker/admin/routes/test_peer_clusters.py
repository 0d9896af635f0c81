"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

ONE = "/admin/v2/clusters/standalone"


async def test_a_cluster_that_has_moved_is_kept_and_named_as_without_effect(world):
    missing = await world.ask("POST", "/admin/v2/clusters/nope/migrate?migrated=true", {})
    assert (missing.status, missing.reason) == (404, "Cluster does not exist")
    kept = await world.ask("POST", f"{ONE}/migrate?migrated=true", {"serviceUrl": "http://b:8080"})
    assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (200, "migrate")
    back = await world.ask("POST", f"{ONE}/migrate?migrated=false", {})
    assert "X-Magnetar-Without-Effect" not in back.headers
    shown = (await world.ask("GET", f"{ONE}/migrate")).json
    assert shown == {"migrated": False, "migratedClusterUrl": {"empty": True}}
    assert (await world.ask("POST", f"{ONE}/migrate", {"serviceUrl": "b"})).status == 400


async def test_what_is_no_list_of_clusters_is_refused(world):
    assert (await world.ask("POST", f"{ONE}/peers", {})).status == 400
    missing = await world.ask("POST", "/admin/v2/clusters/nope/peers", [])
    assert missing.reason == "Cluster does not exist"
