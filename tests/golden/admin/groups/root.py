"""root"""

from golden.admin.groups.shared import NOT_YET, making

BEFORE = {"v1_tenants": making(("DELETE", "tenants/t7", None))}
DIFFERENCES = {
    "metrics_redirect": NOT_YET,
    "ws": NOT_YET,
}
