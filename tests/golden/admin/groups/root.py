"""root"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "metrics_redirect": NOT_YET,
    "admin": NOT_YET,
    "admin_v2": NOT_YET,
    "v1_clusters": NOT_YET,
    "v1_namespaces": NOT_YET,
    "v1_persistent": NOT_YET,
    "v1_tenants": NOT_YET,
    "v1_brokers": NOT_YET,
    "ws": NOT_YET,
    "accept_any": NOT_YET,
    "gzip": NOT_YET,
    "basic_auth_ignored": "credentials that nobody checks are refused, not ignored",
}
