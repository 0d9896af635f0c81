"""clusters"""

from golden.admin.groups.shared import making

BEFORE = {
    "list_end": making(
        ("DELETE", "clusters/cluster3", None),
        ("DELETE", "clusters/cluster5", None),
        ("PUT", "clusters/cluster2", {"serviceUrl": "http://cluster2.example:8080"}),
    )
}
DIFFERENCES = {
    "get": "a broker of Java describes its own key stores and class for TLS; ours has none",
}
