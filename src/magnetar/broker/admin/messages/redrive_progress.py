"""How far a redrive is, and, where it fails, what of it is done. Pure."""

from collections import Counter
from dataclasses import field
from typing import Any, Final

from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.model.process_status import ProcessStatus

REASONS_MAX: Final = 20
"""Why letters stay: so many reasons are counted apart."""


@dataclass(slots=True)
class SourceProgress:
    """How far it is with one partition."""

    status: ProcessStatus = ProcessStatus.NOT_RUN
    messages: int = 0


@dataclass(slots=True)
class Progress:
    """How far it is; ``sources`` are the partitions, none for a topic without any."""

    status: ProcessStatus = ProcessStatus.RUNNING
    entries: int = 0
    messages: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    targets: Counter[str] = field(default_factory=Counter)
    error: str = ""
    began_ms: int = 0
    ended_ms: int = 0
    complete: bool = False
    sources: dict[TopicName, SourceProgress] = field(default_factory=dict)

    def skip(self, reason: str) -> None:
        known = reason in self.skipped or len(self.skipped) < REASONS_MAX
        self.skipped[reason if known else "other reasons"] += 1

    def moved(self, target: TopicName, count: int = 1) -> None:
        """Count letters that were sent to a topic."""
        self.messages += count
        self.targets[str(target)] += count

    def end(self, status: ProcessStatus, error: str, now_ms: int) -> None:
        """Note how it ended, and so the partition that it was at."""
        self.status, self.error, self.ended_ms = status, error, now_ms
        for each in self.sources.values():
            if each.status is ProcessStatus.RUNNING:
                each.status = status

    def shown(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "status": self.status.value,
            "entries": self.entries,
            "messages": self.messages,
            "targets": dict(self.targets),
            "skipped": dict(self.skipped),
            "complete": self.complete,
            "error": self.error,
            "startedAt": self.began_ms,
            "endedAt": self.ended_ms,
        }
        if self.sources:
            found["partitions"] = [
                {"topic": str(name), "status": each.status.value, "messages": each.messages}
                for name, each in self.sources.items()
            ]
        return found

    def said(self, error: MagnetarError) -> str:
        """An error, with what of which partition is sent back and what is not."""
        by_status: dict[ProcessStatus, list[TopicName]] = {}
        for name, each in self.sources.items():
            by_status.setdefault(each.status, []).append(name)
        failed = by_status.get(ProcessStatus.RUNNING)
        if not failed:
            return str(error)
        return (
            f"{failed[0]}: {error}. Sent back before that: {self.sources[failed[0]].messages} of "
            f"this partition, {self.messages} in all. Done: "
            f"{_span(by_status.get(ProcessStatus.SUCCESS))}; not begun: "
            f"{_span(by_status.get(ProcessStatus.NOT_RUN))}. What was not sent back is where it was"
        )


def _span(names: list[TopicName] | None) -> str:
    """Partitions, which come one after the other."""
    if not names:
        return "none"
    first, last = names[0].partition_index, names[-1].partition_index
    return f"partition {first}" if first == last else f"partitions {first} to {last}"
