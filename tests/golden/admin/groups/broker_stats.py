"""broker_stats"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "metrics": NOT_YET,
    "mbeans": NOT_YET,
    "topics": NOT_YET,
    "load_report": NOT_YET,
    "allocator_default": NOT_YET,
    "allocator_ml": NOT_YET,
    "allocator_unknown": NOT_YET,
    "bookieops": NOT_YET,
    "resource_availability": NOT_YET,
    "topics_later": NOT_YET,
}
