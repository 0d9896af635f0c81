"""bookies"""

from golden.admin.groups.shared import NOT_YET

BEFORE = {}
DIFFERENCES = {
    "all": NOT_YET,
    "racks": NOT_YET,
    "rack_unknown": NOT_YET,
    "rack_set": NOT_YET,
    "rack_get": NOT_YET,
    "racks2": NOT_YET,
    "rack_delete": NOT_YET,
    "rack_delete_unknown": NOT_YET,
    "rack_set_no_group": NOT_YET,
}
