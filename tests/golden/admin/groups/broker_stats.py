"""broker_stats"""

BEFORE = {}
DIFFERENCES = {}
