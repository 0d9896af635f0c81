"""How long work that an administrator asked for stands, as Pulsar calls it. Pure."""

from enum import Enum


class ProcessStatus(Enum):
    """Of the compaction of a topic, and of its offloading."""

    NOT_RUN = "NOT_RUN"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    ERROR = "ERROR"
