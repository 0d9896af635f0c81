"""ns permissions: see the room of authorization."""

from golden.admin.groups.shared import NOT_OURS

BEFORE = {}
UNKNOWN_ACTION = "an action that there is not is refused by name, and not stored as nothing"
DIFFERENCES = {
    "grant_bad_action": UNKNOWN_ACTION,
    "get_after_revoke": UNKNOWN_ACTION,
    "sub_revoke_unknown": NOT_OURS,
}
