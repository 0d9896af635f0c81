"""Tenants."""

from golden.admin.groups.shared import making

BEFORE = {
    "update": making(("PUT", "clusters/remote", {"serviceUrl": "http://remote.example:8080"})),
    "delete_nonempty": making(("PUT", "namespaces/gone/n1", None)),
}
DIFFERENCES = {}
