"""namespaces"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "split_bad_upper": NOT_YET,
    "split": NOT_YET,
    "bundles_split": "bundles cannot be split yet",
    "split_bad_bundle": NOT_YET,
    "split_bad_alg": NOT_YET,
    "split_malformed": NOT_YET,
    "split_positions": NOT_YET,
    "bundles_split2": "bundles cannot be split yet",
    "unload_ns": NOT_YET,
    "unload_bundle": NOT_YET,
    "unload_bad_bundle": NOT_YET,
    "unload_unknown": NOT_YET,
    "delete_bundle": NOT_YET,
    "topicHashPositions": NOT_YET,
    "unknown_subpath": NOT_YET,
    "unknown_subpath_post": NOT_YET,
    "topic_hash_positions_loaded": NOT_YET,
}
