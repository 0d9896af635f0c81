"""brokers"""

BEFORE = {}
DIFFERENCES = {
    "owned": "Pulsar's own clients had looked up topics of the system",
    "dynamic_names": "those that can be changed here, and those that have no effect",
    "runtime": "the settings that there are, of which Pulsar has more",
}
