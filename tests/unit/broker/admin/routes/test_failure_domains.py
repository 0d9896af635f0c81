"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

ALL = "/admin/v2/clusters/standalone/failureDomains"


async def test_a_domain_changes_its_brokers(world):
    for brokers in (["a:1", "b:1"], ["b:1", "b:1"], []):
        kept = await world.ask("POST", f"{ALL}/d", {"brokers": brokers})
        assert (kept.status, kept.headers["X-Magnetar-Without-Effect"]) == (204, "failureDomains")
        assert (await world.ask("GET", f"{ALL}/d")).json == {"brokers": sorted(set(brokers))}
    assert (await world.ask("POST", f"{ALL}/d", {"brokers": "a"})).status == 400
    elsewhere = ALL.replace("standalone", "nope")
    assert (await world.ask("POST", f"{elsewhere}/d", {"brokers": []})).status == 412
