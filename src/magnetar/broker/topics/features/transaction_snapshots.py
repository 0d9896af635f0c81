"""Snapshots of a transaction buffer: so that a topic is opened without reading all of its log.

They are records of a log beside the topic's. A snapshot says which transactions were open after an
entry, and adds the entries that were aborted since the snapshot before it, so that taking one costs
little however much was aborted. Now and then one is *whole*: it has all that is aborted, perhaps in
several records, and everything before it is trimmed. A snapshot counts only where its last record
is there, the one that says up to where it goes.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from magnetar.broker.topics.transaction_buffer import Entries, OpenTransaction, TransactionBuffer
from magnetar.model.position import EARLIEST, Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import RecordLog

ENTRIES_MAX: Final = 5_000
"""So many stretches of aborted entries are in one record."""

WHOLE_EVERY: Final = 100
"""So many records are replayed, or one for each ``ENTRIES_MAX``, before a snapshot is whole."""


class TransactionSnapshots:
    """The snapshots of one topic, in a record log."""

    def __init__(self, records: RecordLog) -> None:
        self._records = records
        self._count = 0  # Records that a replay reads.

    async def restore(self, buffer: TransactionBuffer) -> Position:
        """Put what is known into an empty buffer. Returns up to which entry everything is known.

        Raises what the stores raise.
        """
        staged: list[Entries] = []
        whole = False
        last: dict[str, Any] = {"upto": EARLIEST, "open": [], "watermarks": []}
        async for run in self._records.replay():
            for record in map(json.loads, run.data):
                self._count += 1
                if "begins" in record:
                    staged, whole = [], record["begins"] == "whole"
                staged += map(_entries, record["aborted"])
                if "upto" in record:
                    if whole:
                        buffer.aborted.clear()
                    buffer.abort(staged)
                    staged, last = [], record
        buffer.low_watermarks.update(map(tuple, last["watermarks"]))
        for each in last["open"]:
            found = OpenTransaction(
                each["producer"], each["since"], list(map(_entries, each["entries"]))
            )
            buffer.restore(TxnId(*each["id"]), found)
        return Position(*last["upto"])

    async def take(
        self, buffer: TransactionBuffer, upto: Position, aborted: Sequence[Entries]
    ) -> None:
        """Write a snapshot as of now; ``aborted`` is new in it. Raises what the stores raise."""
        whole = self._count >= WHOLE_EVERY + _stretches(buffer) // ENTRIES_MAX * 2
        new = list(_all_of(buffer)) if whole else _joined(aborted)
        last = {
            "upto": upto,
            "watermarks": list(buffer.low_watermarks.items()),
            "open": [
                {
                    "id": each,
                    "producer": its.producer,
                    "since": its.since_ms,
                    "entries": its.entries,
                }
                for each, its in buffer.open.items()
            ],
        }
        parts = [new[at : at + ENTRIES_MAX] for at in range(0, len(new), ENTRIES_MAX)] or [[]]
        records: list[dict[str, object]] = [{"aborted": part} for part in parts]
        records[0]["begins"] = "whole" if whole else "more"
        records[-1] |= last
        written = [json.dumps(record, separators=(",", ":")).encode() for record in records]
        end = await self._records.append(written)
        self._count += len(records)
        if whole:
            self._records.trim(Position(end.ledger_id, end.entry_id - len(records)))
            self._count = len(records)

    async def close(self) -> None:
        """Raises what the stores raise."""
        await self._records.close()


def _entries(stored: Sequence[int]) -> Entries:
    ledger_id, first, last = stored
    return ledger_id, first, last


def _joined(entries: Iterable[Entries]) -> list[Entries]:
    """The fewest stretches that have these entries."""
    found: list[Entries] = []
    for ledger_id, first, last in sorted(entries):
        if found and found[-1][0] == ledger_id and found[-1][2] + 1 == first:
            found[-1] = (ledger_id, found[-1][1], last)
        else:
            found.append((ledger_id, first, last))
    return found


def _all_of(buffer: TransactionBuffer) -> Iterable[Entries]:
    for ledger_id, ranges in buffer.aborted.items():
        for first, last in zip(ranges.starts, ranges.ends, strict=True):
            yield ledger_id, first, last


def _stretches(buffer: TransactionBuffer) -> int:
    return sum(map(len, buffer.aborted.values()))
