"""brokers"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "owned": NOT_YET,
    "dynamic_names": NOT_YET,
    "runtime": NOT_YET,
}
