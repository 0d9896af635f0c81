"""topic permissions: see the room of authorization."""

from golden.admin.groups.ns_permissions import UNKNOWN_ACTION

BEFORE = {}
DIFFERENCES = {
    "grant_bad": UNKNOWN_ACTION,
    "get_after": UNKNOWN_ACTION,
    "policies_destination_auth": UNKNOWN_ACTION,
}
