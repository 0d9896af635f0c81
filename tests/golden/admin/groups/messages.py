"""Single messages."""

from golden.admin.groups.shared import NOT_OURS

BEFORE = {}
DIFFERENCES = {
    "by_id_unknown_entry": NOT_OURS,
    "peek_0": NOT_OURS,
    "peek_negative": NOT_OURS,
    "peek_unknown_sub": "to look at a subscription that is not there does not create it",
}
