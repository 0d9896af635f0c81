"""What Pulsar 4.0.7 answered about policies is what we answer, for those that are not in force too.

``policies.jsonl`` has the exchanges that ``exchanges.jsonl`` has not; all rows of our table are
played, so that a policy has its answers before it is in force.
"""

import json

from golden.admin.test_admin import HERE, NOT_OURS, make, replay
from unit.broker.admin.world import open_world

from magnetar.broker.admin.app import ROUTES
from magnetar.broker.admin.policy_table import KINDS
from magnetar.broker.admin.routes import policies, resource_groups

EXCHANGES = [json.loads(line) for line in (HERE / "policies.jsonl").read_text().splitlines()]

SAYS_ELSEWHERE = "it is the namespace that does not exist, as for every other policy"
NO_REPLICATION = "nothing is replicated to another cluster yet, so it is refused"

DIFFERENCES = {
    ("ns_policies", "replication.set_two"): NO_REPLICATION,
    ("ns_policies", "replication.get_two"): NO_REPLICATION,
    ("ns_policies", "allowedClusters.set"): NO_REPLICATION,
    ("ns_policies", "allowedClusters.get_set"): NO_REPLICATION,
    ("ns_policies", "allowedClusters.get_after_bad"): NO_REPLICATION,
    ("topic_policies", 'subscriptionTypesEnabled.set_bad_["Zzz"]'): NOT_OURS,
    ("ns_policies", "replicatorDispatchRate.get_unknown_ns"): SAYS_ELSEWHERE,
    ("ns_policies", "dispatcherPauseOnAckStatePersistent.get_unknown_ns"): SAYS_ELSEWHERE,
    ("resourcegroups", "create_no_body"): NOT_OURS,
    ("resourcegroups", "delete_unknown"): NOT_OURS,
    ("topic_policies", "global.get_applied"): "a global policy holds, so it is shown as such",
}


async def namespaces(world):
    await make(
        world,
        ("PUT", "clusters/remote", {"serviceUrl": "http://remote.example:8080"}),
        ("PUT", "tenants/golden", {"allowedClusters": ["standalone", "remote"]}),
        *(("PUT", f"namespaces/golden/{name}", None) for name in ("ns1", "ns2", "tpol")),
        ("PUT", "persistent/golden/tpol/t", None),
        ("PUT", "persistent/golden/tpol/pt/partitions", 2),
    )


async def policies_of_namespace(world):
    retention = {"retentionTimeInMinutes": 5, "retentionSizeInMB": 6}
    await make(
        world,
        ("POST", "namespaces/golden/tpol/maxProducersPerTopic", 9),
        ("POST", "namespaces/golden/tpol/messageTTL", 77),
        ("POST", "namespaces/golden/tpol/retention", retention),
    )


BEFORE = {
    (EXCHANGES[0]["group"], EXCHANGES[0]["name"]): namespaces,
    ("topic_policies", "applied_from_ns.maxProducers"): policies_of_namespace,
}


async def test_policies_are_answered_as_recorded():
    rest = set(ROUTES) - set(policies.ROUTES) - set(resource_groups.ROUTES)
    every = (*policies.routes(KINDS), *resource_groups.routes(KINDS))
    async with open_world(routes=(*rest, *every)) as world:
        await replay(world, EXCHANGES, BEFORE, DIFFERENCES)


def test_every_difference_and_every_preparation_is_for_an_exchange():
    names = {(exchange["group"], exchange["name"]) for exchange in EXCHANGES}
    assert DIFFERENCES.keys() | BEFORE.keys() <= names
