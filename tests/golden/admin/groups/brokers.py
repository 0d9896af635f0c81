"""brokers"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "owned": NOT_YET,
    "owned_unknown_broker": NOT_YET,
    "version": "it is our version",
    "version_any": "it is our version",
    "internal_configuration": NOT_YET,
    "dynamic_names": NOT_YET,
    "dynamic_values_empty": NOT_YET,
    "dynamic_set": NOT_YET,
    "dynamic_values": NOT_YET,
    "dynamic_set_not_dynamic": NOT_YET,
    "dynamic_set_unknown": NOT_YET,
    "dynamic_set_bad_value": NOT_YET,
    "dynamic_delete": NOT_YET,
    "dynamic_delete_unknown": NOT_YET,
    "runtime": NOT_YET,
}
