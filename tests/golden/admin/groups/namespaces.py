"""namespaces"""

from golden.admin.groups.shared import NO_SYSTEM_TOPICS

BEFORE = {}
DIFFERENCES = {
    "topic_hash_positions_loaded": NO_SYSTEM_TOPICS,
}
