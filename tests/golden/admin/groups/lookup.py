"""Lookup over HTTP."""

from golden.admin.groups.shared import making

BEFORE = {
    "noauto_missing": making(
        ("PUT", "namespaces/golden/noauto", None),
        (
            "POST",
            "namespaces/golden/noauto/autoTopicCreation",
            {"allowAutoTopicCreation": False},
        ),
    ),
}
DIFFERENCES = {
    "bad_domain": "a path that names no topic is not a failure of ours",
}
