"""namespace_backlog"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "clearBacklog": NOT_YET,
    "stats_after_clear": NOT_YET,
    "clearBacklog_sub_unknown": NOT_YET,
    "unsubscribe": NOT_YET,
    "subs_after": NOT_YET,
    "unload_ns": NOT_YET,
}
