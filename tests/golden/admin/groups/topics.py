"""Topics."""

from golden.admin.groups.shared import making

LISTED = "Pulsar leaves the topic with a slash in its name out of its lists"

BEFORE = {
    "create": making(("PUT", "namespaces/golden/topics", None)),
}
DIFFERENCES = {
    "list": LISTED,
    "list_ns_topics": LISTED,
    "list_ns_topics_persistent": LISTED,
    "list_ns_topics_all": f"{LISTED}; and there are no system topics",
    "list_include_system": f"{LISTED}; and there are no system topics",
}
