"""resource_quotas"""

BEFORE = {}
DIFFERENCES = {}
