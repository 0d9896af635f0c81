"""topic permissions: see the room of authorization."""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "get_empty": NOT_YET,
    "grant": NOT_YET,
    "grant2": NOT_YET,
    "get": NOT_YET,
    "grant_partitioned": NOT_YET,
    "get_partitioned": NOT_YET,
    "get_partition": NOT_YET,
    "grant_bad": NOT_YET,
    "revoke": NOT_YET,
    "revoke_unknown": NOT_YET,
    "get_after": NOT_YET,
    "grant_unknown_topic": NOT_YET,
    "get_unknown_topic": NOT_YET,
    "revoke_partitioned": NOT_YET,
    "policies_destination_auth": NOT_YET,
    "grant_on_topics": NOT_YET,
    "revoke_on_topics": NOT_YET,
    "get_unknown_ns": NOT_YET,
}
