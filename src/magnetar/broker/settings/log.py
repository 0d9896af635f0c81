"""The settings of the log that a broker writes."""

from pathlib import Path
from typing import Literal

from magnetar.late_dataclass import dataclass

from .setting import setting


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What the log says, and how."""

    format: Literal["text", "json"] = setting(
        "logFormat", "text", "json: each line of the log is an object, for programs; not Pulsar's"
    )
    level: Literal["debug", "info", "warning", "error"] = setting(
        "logLevel", "warning", "info: connections and topics are logged too; not Pulsar's"
    )
    audit_file: Path | None = setting(
        "auditLogFile",
        None,
        "file of the audit log, a JSON object a line; empty: there is none; not Pulsar's",
    )
