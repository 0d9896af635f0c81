"""A topic's log as Pulsar shows it: its ledgers, its last position, and its cursors."""

from collections.abc import Collection
from typing import Any, Final
from urllib.parse import quote_plus

from magnetar.broker.admin.stats import instant
from magnetar.broker.topics.features import deduplication
from magnetar.broker.topics.subscriptions.persistent_subscription import REPLICATED
from magnetar.model.position import Position
from magnetar.storage.codec.json_object import position
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.ledger.offloader import OPTION
from magnetar.storage.managed_ledger.compaction import COMPACTION_CURSOR
from magnetar.storage.managed_ledger.info import CompactedLedgerInfo, CursorInfo, ManagedLedgerInfo

_STATES: Final = {"open": "LedgerOpened", "fenced": "Fenced", "closed": "Closed"}

_NEVER_COMPACTED: Final = CompactedLedgerInfo(-1, -1, -1)


def internal_stats(
    info: ManagedLedgerInfo,
    *,
    active: Collection[str] = (),
    waiting: Collection[str] = (),
    terminated: bool = False,
) -> dict[str, Any]:
    """Cursors are named as Pulsar stores them: encoded, with ``+`` for a blank.

    ``active`` are those with consumers, ``waiting`` those that have read all there is and would
    deliver more.
    """
    return {
        "entriesAddedCounter": info.entries_added,
        "numberOfEntries": info.entry_count,
        "totalSize": info.size_bytes,
        "currentLedgerEntries": info.open_entry_count,
        "currentLedgerSize": info.open_size_bytes,
        "lastLedgerCreatedTimestamp": instant(info.open_began_ms),
        "waitingCursorsCount": len(waiting),
        "pendingAddEntriesCount": 0,
        "lastConfirmedEntry": str(info.last_position),
        "state": "Terminated" if terminated else _STATES[info.state],
        "ledgers": [_ledger(each) for each in info.ledgers],
        "cursors": {
            quote_plus(name, safe=""): {
                **_cursor(each, waiting=name in waiting),
                "messagesConsumedCounter": info.entries_added - each.backlog,
                "active": name in active,
            }
            for name, each in info.cursors.items()
        },
        "schemaLedgers": [],
        "compactedLedger": _compacted(info.compacted or _NEVER_COMPACTED),
    }


def internal_info(info: ManagedLedgerInfo, terminated_at: Position | None) -> dict[str, Any]:
    """What is recorded of a log: its ledgers, its end, and how far its cursors are."""
    return {
        "version": 0,
        "ledgers": [_recorded_ledger(each) for each in info.ledgers],
        **({} if terminated_at is None else {"terminatedPosition": position(terminated_at)}),
        "cursors": {
            quote_plus(name, safe=""): _recorded_cursor(each)
            for name, each in info.cursors.items()
            if each.durable
        },
    }


def _ledger(info: SealedLedger) -> dict[str, Any]:
    """A ledger that still takes appends shows neither entries nor size, as in Pulsar."""
    sealed = info.sealed_ms > 0
    return {
        "ledgerId": info.ledger_id,
        "entries": info.last_entry_id + 1 if sealed else 0,
        "size": info.size_bytes if sealed else 0,
        "offloaded": info.offload is not None and info.offload.complete,
        "underReplicated": False,
        **_copy(info.offload),
    }


def _recorded_ledger(info: SealedLedger) -> dict[str, Any]:
    ended = {"entries": info.last_entry_id + 1, "size": info.size_bytes} if info.sealed_ms else {}
    return {
        "ledgerId": info.ledger_id,
        **ended,
        "timestamp": info.sealed_ms,
        "isOffloaded": info.offload is not None and info.offload.complete,
    }


def _recorded_cursor(info: CursorInfo) -> dict[str, Any]:
    """A cursor has no ledger of its own here: its state is one record."""
    deleted = [
        {
            "lowerEndpoint": position(Position(each.ledger_id, each.first - 1)),
            "upperEndpoint": position(Position(each.ledger_id, each.last)),
        }
        for each in info.ranges
    ]
    return {
        "version": 0,
        "cursorsLedgerId": -1,
        "markDelete": position(info.mark),
        **({"individualDeletedMessages": deleted} if deleted else {}),
        **({"properties": {REPLICATED: 1}} if REPLICATED in info.properties else {}),
    }


def _copy(context: OffloadContext | None) -> dict[str, Any]:
    """Where the copy of an offloaded ledger is, which is ours to tell: who reads files needs it."""
    if context is None or not context.complete:
        return {}
    said = context.properties
    options = {
        name.removeprefix(OPTION): value for name, value in said.items() if name.startswith(OPTION)
    }
    place = {name: said[name] for name in ("url", "name", "rows", "missing")}
    return {"copy": {**place, "options": options, "only": context.local_deleted}}


def _compacted(info: CompactedLedgerInfo) -> dict[str, Any]:
    return {
        "ledgerId": info.ledger_id,
        "entries": info.entry_count,
        "size": info.size_bytes,
        "offloaded": False,
        "underReplicated": False,
    }


def _cursor(info: CursorInfo, *, waiting: bool) -> dict[str, Any]:
    """Pulsar begins a ledger for a durable cursor when something is acknowledged."""
    return {
        "markDeletePosition": str(info.mark),
        "readPosition": str(info.read_position),
        "waitingReadOp": waiting,
        "pendingReadOps": 0,
        "cursorLedger": -1,
        "cursorLedgerLastEntry": -1,
        "individuallyDeletedMessages": _ranges(info),
        "lastLedgerSwitchTimestamp": instant(0),
        "state": "Open" if info.moved or not info.durable else "NoLedger",
        "numberOfEntriesSinceFirstNotAckedMessage": info.entries_since_mark,
        "totalNonContiguousDeletedMessagesRange": len(info.ranges),
        "subscriptionHavePendingRead": waiting,
        "subscriptionHavePendingReplayRead": False,
        "properties": _mark_properties(info),
    }


def _mark_properties(info: CursorInfo) -> dict[str, int]:
    """What the broker keeps with the mark of a cursor of its own; subscriptions show elsewhere."""
    if info.name not in (deduplication.CURSOR, COMPACTION_CURSOR):
        return {}
    return {name: int(value) for name, value in info.properties.items() if value.isdecimal()}


def _ranges(info: CursorInfo) -> str:
    """Ranges without their lower ends: ``[(54:1..54:4]]`` is 54:2 to 54:4."""
    texts = (
        f"({each.ledger_id}:{each.first - 1}..{each.ledger_id}:{each.last}]" for each in info.ranges
    )
    return f"[{','.join(texts)}]"
