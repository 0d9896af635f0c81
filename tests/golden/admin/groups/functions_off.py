"""functions_off"""

BEFORE = {}
DIFFERENCES = {}
