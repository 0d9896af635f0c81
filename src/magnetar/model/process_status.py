"""How long work that an administrator asked for stands, as Pulsar calls it. Pure."""

from enum import Enum


class ProcessStatus(Enum):
    """The status of a topic's compaction, or of its offloading."""

    NOT_RUN = "NOT_RUN"
    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    ERROR = "ERROR"
