"""The answers are in tests/golden/admin/exchanges.jsonl; here is what was not recorded."""

import pytest

ALL = "/admin/v2/clusters/standalone/namespaceIsolationPolicies"
FAILOVER = {
    "policy_type": "min_available",
    "parameters": {"min_limit": "1", "usage_threshold": "100"},
}
POLICY = {"namespaces": ["public/.*"], "primary": ["other.*"], "auto_failover_policy": FAILOVER}


async def test_a_broker_that_no_policy_names_is_free(world):
    await world.ask("POST", f"{ALL}/p", POLICY)
    assert (await world.ask("GET", f"{ALL}/brokers")).json == []
    free = (await world.ask("GET", f"{ALL}/brokers/localhost:8080")).json
    assert free == {"brokerName": "localhost:8080", "primary": False}
    assert (await world.ask("GET", f"{ALL}/zz")).status == 404
    second = {**POLICY, "secondary": ["localhost.*"]}
    kept = await world.ask("POST", f"{ALL}/p", second)
    assert kept.headers["X-Magnetar-Without-Effect"] == "namespaceIsolationPolicies"
    [found] = (await world.ask("GET", f"{ALL}/brokers")).json
    assert (found["policyName"], found["primary"]) == ("p", False)


@pytest.mark.parametrize("pattern", ["(a+)+", "a" * 51, "a*b*c*d*", "("])
async def test_a_pattern_that_could_hold_the_broker_up_is_refused(world, pattern):
    refused = await world.ask("POST", f"{ALL}/p", {**POLICY, "primary": [pattern]})
    assert (refused.status, pattern[:20] in refused.reason) == (412, True)


@pytest.mark.parametrize(
    "broken",
    [
        {"namespaces": "x"},
        {"primary": [[5]]},
        {"auto_failover_policy": None},
        {"auto_failover_policy": {**FAILOVER, "policy_type": "other"}},
        {"auto_failover_policy": {**FAILOVER, "parameters": {}}},
    ],
)
async def test_what_is_no_policy_is_refused(world, broken):
    refused = await world.ask("POST", f"{ALL}/p", {**POLICY, **broken})
    assert (refused.status, "Invalid format" in refused.reason) == (400, True)
