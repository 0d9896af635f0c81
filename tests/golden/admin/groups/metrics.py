"""metrics"""

EXCERPT = "an excerpt of what changes with each request; tests/golden/metrics compares the names"

BEFORE = {}
DIFFERENCES = {
    "first_100_lines": EXCERPT,
    "one_topic": EXCERPT,
    "broker_level": EXCERPT,
}
