"""What an operator must know of the broker itself, while it holds."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.topics.diagnosis.facts import counted

RECENT_S: Final = 60.0
"""A full disk takes a small write now and then: a failure is told for so long all the same."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A problem of the broker, and its remedy."""

    event: str
    severity: Literal["error", "warning"]  # With an error the broker is not well.
    text: str
    remedy: str

    def shown(self) -> dict[str, Any]:
        return asdict(self)


def notices(health: BrokerHealth) -> list[Notice]:
    """The current notices, the worst first."""
    return [*_log(health), *_damage(health)]


def _log(health: BrokerHealth) -> Iterator[Notice]:
    lost = health.folder_lost()
    if lost:
        yield Notice(
            "data-folder-lost",
            "error",
            f"{lost[0].upper()}{lost[1:]}.",
            "what was answered since is gone when the broker ends; producers can send it again",
        )
        return
    failure = health.write_failure()
    if failure is None:
        return
    at, reason = failure
    if health.write_error() or health.clock.now() - at < RECENT_S:
        yield Notice(
            "log-not-writable",
            "error",
            f"The broker's log does not take all that is published: {reason}.",
            "make room on the disk of dataDirectory, or mend it; the broker goes on by itself",
        )


def _damage(health: BrokerHealth) -> Iterator[Notice]:
    damage = health.damage
    if damage.records:
        yield Notice(
            "log-damaged",
            "warning",
            f"The start found {counted(damage.records, 'record')} of the log damaged. What was in "
            "them had been answered, and cannot be read.",
            "look for storage.damaged in the broker's log; check the disk, and restore a backup or "
            "skip those messages",
        )
    cut = damage.maybe_answered
    if cut.records:
        yield Notice(
            "log-cut",
            "warning",
            f"The start cut {counted(cut.records, 'record')} off the end of the log, with "
            f"{counted(cut.entries, 'entry')} that could be read. Nothing says whether they had "
            "been answered.",
            "look for storage.tail_cut in the broker's log; compare with what producers know",
        )
