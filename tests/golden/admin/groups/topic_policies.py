"""Policies of topics."""

from golden.admin.groups.shared import NO_ALIYUN, NO_SYSTEM_TOPICS, NOT_OURS, making
from support.on_cluster import on_cluster

NO_HDFS = "fileSystemURI is a folder of the broker's: others are refused"

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
    "offloadPolicies.set": NO_HDFS,
    "offloadPolicies.get_set": NO_HDFS,
    "offloadPolicies.get_set_applied": NO_HDFS,
    'offloadPolicies.set_bad_{"managedLedgerOffloadDriver": "zzz"}': NO_ALIYUN,
    'subscriptionTypesEnabled.set_bad_["Zzz"]': NOT_OURS,
    "global.get_applied": "a global policy holds, so it is shown as such",
    "topics_with_system": NO_SYSTEM_TOPICS,
    "list_include_system": NO_SYSTEM_TOPICS,
    "change_events_stats": NO_SYSTEM_TOPICS,
    "change_events_partitions": NO_SYSTEM_TOPICS,
}
if on_cluster():  # It has that topic.
    del DIFFERENCES["change_events_partitions"]
