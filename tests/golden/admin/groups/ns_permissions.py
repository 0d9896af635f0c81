"""ns permissions: see the room of authorization."""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "get_empty": NOT_YET,
    "grant": NOT_YET,
    "grant_more": NOT_YET,
    "get": NOT_YET,
    "grant_bad_action": NOT_YET,
    "grant_empty": NOT_YET,
    "grant_no_body": NOT_YET,
    "grant_unknown_ns": NOT_YET,
    "revoke": NOT_YET,
    "revoke_unknown_role": NOT_YET,
    "get_after_revoke": NOT_YET,
    "get_unknown_ns": NOT_YET,
    "sub_get_empty": NOT_YET,
    "sub_grant": NOT_YET,
    "sub_get": NOT_YET,
    "sub_revoke": NOT_YET,
    "sub_get_after": NOT_YET,
    "sub_revoke_unknown": NOT_YET,
    "grant_on_topics": NOT_YET,
}
