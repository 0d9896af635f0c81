"""namespaces"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "topic_hash_positions_loaded": NOT_YET,
}
