"""What is noted about topics."""

UNANSWERED = "Pulsar leaves the client waiting for ever; here it is told what is wrong"

BEFORE = {}
DIFFERENCES = {}
