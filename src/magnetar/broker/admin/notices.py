"""What an operator must know of the broker itself, while it holds."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final, Literal

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.topics.diagnosis.facts import counted
from magnetar.late_dataclass import dataclass
from magnetar.model.cluster_stores import CONNECTED, ClusterStores, Presence

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
    cluster = () if health.cluster is None else _cluster(health.cluster)
    return [*_log(health), *cluster, *_damage(health)]


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


def _cluster(stores: ClusterStores) -> Iterator[Notice]:
    for session in stores.sessions:
        if session.state != CONNECTED:
            yield Notice(
                "zookeeper-away",
                "error",
                f"The session with ZooKeeper at {session.servers} is {session.state}.",
                "see whether a majority of its servers runs and can be reached; the broker goes on "
                "by itself",
            )
    bookies = stores.bookies()
    writable = [each for each in bookies if each.presence is Presence.WRITABLE]
    if len(writable) < stores.ensemble_size:
        yield Notice(
            "bookies-too-few",
            "error",
            f"{counted(len(writable), 'bookie')} of {len(bookies)} take writes, and a ledger needs "
            f"{stores.ensemble_size}: topics that begin one cannot be published to.",
            "start bookies, or ask for smaller ensembles (managedLedgerDefaultEnsembleSize)",
        )
    for event, what, remedy, names in (
        (
            "bookies-away",
            "not there",
            "start them, or take them out for good by `bookkeeper shell decommissionbookie`",
            [each.bookie_id for each in bookies if each.presence is Presence.AWAY],
        ),
        (
            "bookies-read-only",
            "read-only",
            "look at their disks: a full one makes a bookie read-only",
            [each.bookie_id for each in bookies if each.presence is Presence.READ_ONLY],
        ),
        (
            "bookies-quarantined",
            "avoided, because they failed a few seconds ago",
            "look at their logs, and at ledger.bookie_failed in the broker's, if it lasts",
            [each.bookie_id for each in writable if each.quarantined],
        ),
    ):
        if names:
            text = f"{counted(len(names), 'bookie')} {'is' if len(names) == 1 else 'are'} {what}"
            yield Notice(event, "warning", f"{text}: {', '.join(names)}.", remedy)


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
