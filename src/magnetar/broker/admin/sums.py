"""The stats of a partitioned topic: the sum of what each partition's broker shows. Pure.

Numbers are added up, flags hold if one does, and of texts the first that says something is kept.
Publishers and consumers of one name are one.
"""

from collections.abc import Iterable
from functools import reduce
from typing import Any, Final

_LISTED: Final = {"publishers": "producerName", "consumers": "consumerName"}
_OF_FIRST: Final = frozenset(
    {"producerId", "backlogQuotaLimitSize", "backlogQuotaLimitTime", "blockedReason"}
)
_LATEST: Final = frozenset(
    {
        "blockedSince",
        "connectedSince",
        "inboundConnectedSince",
        "outboundConnectedSince",
        "replicationBacklogAgeInSeconds",
        "replicationDelayInSeconds",
        "lastAckedTime",
        "lastAckedTimestamp",
        "lastCompactionDurationTimeInMills",
        "lastCompactionFailedTimestamp",
        "lastCompactionSucceedTimestamp",
        "lastConsumedFlowTimestamp",
        "lastConsumedTime",
        "lastConsumedTimestamp",
        "lastExpireTimestamp",
        "lastMarkDeleteAdvancedTimestamp",
        "lastOffloadFailureTimeStamp",
        "lastOffloadLedgerId",
        "lastOffloadSuccessTimeStamp",
        "lastPublishTimeStamp",
        "oldestBacklogMessageAgeSeconds",
        "producersHeldSince",
        "topicCreationTimeStamp",
    }
)
_NOTHING: Final[tuple[object, ...]] = ("", "None", None, [], {})


def total(partitions: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """One topic's stats of all partitions'; {} of none."""
    return reduce(_added, partitions, {})


def _added(mine: dict[str, Any], theirs: dict[str, Any]) -> dict[str, Any]:
    found = {**mine, **{key: value for key, value in theirs.items() if key not in mine}}
    for key in mine.keys() & theirs.keys():
        found[key] = _combined(key, mine[key], theirs[key])
    if "blockedSince" in theirs and "blockedSince" not in mine:  # Its reason is the one to tell.
        found["blockedReason"] = theirs.get("blockedReason")
    age = "oldestBacklogMessageAgeSeconds"
    if mine.get(age, -1) < theirs.get(age, -1):
        found["oldestBacklogMessageSubscriptionName"] = theirs.get(
            "oldestBacklogMessageSubscriptionName"
        )
    if found.get("msgRateIn") and "averageMsgSize" in found:
        found["averageMsgSize"] = found["msgThroughputIn"] / found["msgRateIn"]
    return found


def _combined(key: str, mine: Any, theirs: Any) -> Any:
    if key in _LISTED:
        named: dict[str, dict[str, Any]] = {}
        for each in [*mine, *theirs]:
            name = each[_LISTED[key]]
            named[name] = _added(named.get(name, {}), each)
        return list(named.values())
    if key == "compaction":
        return _added(mine, theirs)
    if key in {"subscriptions", "replication"}:
        return mine | {name: _added(mine.get(name, {}), each) for name, each in theirs.items()}
    return theirs if mine in _NOTHING else _sum(key, mine, theirs)


def _sum(key: str, mine: Any, theirs: Any) -> Any:
    if key in _LATEST:
        return max(mine, theirs)
    if key.startswith("earliestMsgPublishTime"):
        return min((each for each in (mine, theirs) if each >= 0), default=-1)
    if isinstance(mine, bool):
        return mine or theirs
    if key in _OF_FIRST or not isinstance(mine, int | float) or mine == theirs == -1:
        return mine  # -1 says that there is none.
    return mine + theirs
