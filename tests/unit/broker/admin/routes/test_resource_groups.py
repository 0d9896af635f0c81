"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

ALL = "/admin/v2/resourcegroups"
NAMESPACE = "/admin/v2/namespaces/public/default/resourcegroup"


async def test_a_namespace_joins_and_leaves_a_group(world):
    assert (await world.ask("PUT", f"{ALL}/a", {"publishRateInMsgs": 3})).status == 204
    assert (await world.ask("POST", f"{NAMESPACE}/a")).status == 204
    assert (await world.ask("GET", NAMESPACE)).json == "a"
    shown = (await world.ask("GET", "/admin/v2/namespaces/public/default")).json
    assert shown["resource_group_name"] == "a"
    assert (await world.ask("DELETE", f"{ALL}/a")).status == 412
    assert (await world.ask("DELETE", NAMESPACE)).status == 204
    assert (await world.ask("DELETE", f"{ALL}/a")).status == 204


@pytest.mark.parametrize("sent", [[], "x", {"publishRateInMsgs": "many"}])
async def test_what_is_no_group_is_refused(world, sent):
    assert (await world.ask("PUT", f"{ALL}/a", sent)).status == 400


async def test_a_missing_group_or_namespace_is_named(world):
    assert (await world.ask("DELETE", f"{ALL}/a")).reason == "ResourceGroup does not exist"
    elsewhere = "/admin/v2/namespaces/public/nope/resourcegroup"
    for method, path in (("GET", elsewhere), ("POST", f"{elsewhere}/a"), ("DELETE", elsewhere)):
        refused = await world.ask(method, path)
        assert (refused.status, refused.reason) == (404, "Namespace does not exist")
