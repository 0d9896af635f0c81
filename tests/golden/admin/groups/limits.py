"""What a namespace limits."""

from golden.admin.groups.shared import making

BEFORE = {
    "max_topics_partitions": making(
        ("PUT", "namespaces/golden/lim", None),
        ("PUT", "persistent/golden/lim/a", None),
        ("POST", "namespaces/golden/lim/maxTopicsPerNamespace", 2),
        ("POST", "namespaces/golden/lim/maxSubscriptionsPerTopic", 1),
    ),
    "ns_delete_emptied": making(
        ("DELETE", "persistent/golden/lim/a", None), ("DELETE", "persistent/golden/lim/b", None)
    ),
}
DIFFERENCES = {}
