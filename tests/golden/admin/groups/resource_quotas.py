"""resource_quotas"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "default_get": NOT_YET,
    "default_set": NOT_YET,
    "default_get2": NOT_YET,
    "bundle_get": NOT_YET,
    "bundle_set": NOT_YET,
    "bundle_get2": NOT_YET,
    "bundle_delete": NOT_YET,
    "bundle_get3": NOT_YET,
    "bundle_bad": NOT_YET,
    "bundle_unknown_ns": NOT_YET,
    "default_bad": NOT_YET,
    "default_invalid": NOT_YET,
}
