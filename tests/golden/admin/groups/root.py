"""root"""

from golden.admin.groups.shared import NOT_YET, making

BEFORE = {"v1_tenants": making(("DELETE", "tenants/t7", None))}
DIFFERENCES = {
    "ws": NOT_YET,
}
