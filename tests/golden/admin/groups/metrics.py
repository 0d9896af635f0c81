"""metrics"""

EXCERPT = "an excerpt of what changes with each request; tests/golden/metrics compares the names"

BEFORE = {}
DIFFERENCES = {}
