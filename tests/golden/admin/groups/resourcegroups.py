"""resourcegroups"""

from golden.admin.groups.shared import NOT_OURS

BEFORE = {}
DIFFERENCES = {
    "create_no_body": NOT_OURS,
    "delete_unknown": NOT_OURS,
}
