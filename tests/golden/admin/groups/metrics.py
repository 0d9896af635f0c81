"""metrics"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "first_100_lines": NOT_YET,
    "one_topic": NOT_YET,
    "broker_level": NOT_YET,
}
