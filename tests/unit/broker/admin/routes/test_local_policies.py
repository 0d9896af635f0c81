"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest
from support.stores import cluster_of

NAMESPACE = "/admin/v2/namespaces/public/default"
LIST = "/admin/v2/namespaces/standalone/antiAffinity/a?tenant=public"


async def test_the_namespaces_of_a_group_are_listed(world):
    kept = await world.ask("POST", f"{NAMESPACE}/antiAffinity", "a")
    assert kept.headers["X-Magnetar-Without-Effect"] == "antiAffinity"
    assert (await world.ask("GET", LIST)).json == ["public/default"]
    await world.ask("DELETE", f"{NAMESPACE}/antiAffinity")
    assert (await world.ask("GET", LIST)).json == []
    elsewhere = await world.ask("GET", LIST.replace("standalone", "nope"))
    assert (elsewhere.status, elsewhere.reason) == (412, "Cluster does not exist")


async def test_they_go_with_their_namespace(world):
    one = "/admin/v2/namespaces/public/n"
    for _ in range(2):
        await world.ask("PUT", one)
        missing = await world.ask("GET", f"{one}/persistence/bookieAffinity")
        assert missing.reason == "Namespace local-policies does not exist"
        await world.ask("POST", f"{one}/antiAffinity", "a")
        assert (await world.ask("DELETE", one)).status == 204


@pytest.mark.parametrize("sent", [[], "x", {"bookkeeperAffinityGroupPrimary": [5]}])
async def test_what_is_no_group_of_bookies_is_refused(world, sent):
    path = f"{NAMESPACE}/persistence/bookieAffinity"
    assert (await world.ask("POST", path, sent)).status == 400


async def test_a_name_of_no_text_is_refused(world):
    assert (await world.ask("POST", f"{NAMESPACE}/antiAffinity", b'"')).status == 400


async def test_the_bookies_of_a_namespace_have_an_effect_in_a_cluster(world):
    path = f"{NAMESPACE}/persistence/bookieAffinity"
    groups = {"bookkeeperAffinityGroupPrimary": "a"}
    kept = await world.ask("POST", path, groups)
    assert kept.headers["X-Magnetar-Without-Effect"] == "bookieAffinity"
    world.admin.records.health.cluster = cluster_of({})
    kept = await world.ask("POST", path, groups)
    assert "X-Magnetar-Without-Effect" not in kept.headers
