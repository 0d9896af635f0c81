"""topic_properties"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "get_none": NOT_YET,
    "get_created": NOT_YET,
    "put": NOT_YET,
    "put_merge": NOT_YET,
    "get": NOT_YET,
    "delete_key": NOT_YET,
    "delete_no_key": NOT_YET,
    "get2": NOT_YET,
    "get_partitioned": NOT_YET,
    "put_partitioned": NOT_YET,
    "get_partitioned2": NOT_YET,
    "get_unknown": NOT_YET,
    "put_unknown": NOT_YET,
    "put_bad": NOT_YET,
    "put_no_body": NOT_YET,
    "delete_unknown_topic": NOT_YET,
    "get_partition": NOT_YET,
}
