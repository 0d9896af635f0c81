"""root"""

from golden.admin.groups.shared import making

BEFORE = {"v1_tenants": making(("DELETE", "tenants/t7", None))}
DIFFERENCES = {}
