"""Topics."""

from golden.admin.groups.shared import NOT_YET, making

LISTED = "Pulsar leaves the topic with a slash in its name out of its lists"
NO_PLAIN_PROPERTIES = "topics without partitions have no properties yet, so they are refused"

BEFORE = {
    "create": making(("PUT", "namespaces/golden/topics", None)),
}
DIFFERENCES = {
    "create_with_properties": NO_PLAIN_PROPERTIES,
    "list": LISTED,
    "list_ns_topics": LISTED,
    "list_ns_topics_persistent": LISTED,
    "list_ns_topics_all": f"{LISTED}; and there are no system topics",
    "list_bundle": NOT_YET,
    "list_include_system": f"{LISTED}; and there are no system topics",
}
