"""Policies of topics."""

from golden.admin.groups.shared import NOT_OURS, NOT_YET, making

BEFORE = {
    "messageTTL.get_default": making(
        ("PUT", "namespaces/golden/tpol", None),
        ("PUT", "persistent/golden/tpol/t", None),
        ("PUT", "persistent/golden/tpol/pt/partitions", 2),
    ),
    "applied_from_ns.maxProducers": making(
        ("POST", "namespaces/golden/tpol/maxProducersPerTopic", 9),
        ("POST", "namespaces/golden/tpol/messageTTL", 77),
        (
            "POST",
            "namespaces/golden/tpol/retention",
            {"retentionTimeInMinutes": 5, "retentionSizeInMB": 6},
        ),
    ),
}
DIFFERENCES = {
    "offloadPolicies.get_default_applied": NOT_YET,
    "offloadPolicies.set": NOT_YET,
    "offloadPolicies.get_set": NOT_YET,
    "offloadPolicies.get_set_applied": NOT_YET,
    'offloadPolicies.set_bad_{"managedLedgerOffloadDriver": "zzz"}': NOT_YET,
    'subscriptionTypesEnabled.set_bad_["Zzz"]': NOT_OURS,
    "shadowTopics.get_default": NOT_YET,
    "shadowTopics.set": NOT_YET,
    "shadowTopics.get": NOT_YET,
    "shadowTopics.delete": NOT_YET,
    "shadowTopics.set_bad": NOT_YET,
    "global.get_applied": "a global policy holds, so it is shown as such",
    "topics_with_system": NOT_YET,
    "list_include_system": NOT_YET,
    "change_events_stats": NOT_YET,
    "change_events_partitions": NOT_YET,
}
