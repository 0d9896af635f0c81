"""Which ledgers of a range are read from their files, and what is left to the broker. Pure.

A ledger is read from its file when all of it is in the range and all of its messages are rows of
the file. What lies between such ledgers, and behind them, is ranges for the broker: each message is
in one of them or in one file, since the borders are those of ledgers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from magnetar.spark.offsets import NOTHING_READ, WHOLE_ENTRY, Offset
from magnetar.spark.planning import Range


@dataclass(frozen=True, slots=True)
class LedgerCopy:
    """The file of an offloaded ledger: the options of its place are obstore's."""

    url: str
    name: str
    options: Mapping[str, str]
    whole: bool  # The rows are all messages of the ledger.


@dataclass(frozen=True, slots=True)
class StoredLedger:
    """A ledger of a topic."""

    ledger_id: int
    entry_count: int
    copy: LedgerCopy | None = None


@dataclass(frozen=True, slots=True)
class Stitched:
    """A range in two parts."""

    files: tuple[LedgerCopy, ...]
    rest: tuple[Range, ...]


def stitched(wanted: Range, ledgers: Sequence[StoredLedger]) -> Stitched:
    """Divide a range. ``ledgers`` are all that the topic has, in order."""
    if wanted.after != NOTHING_READ and wanted.after.ledger_id not in {
        each.ledger_id for each in ledgers
    }:
        return Stitched((), (wanted,))  # Something may be lost: the broker's read tells.
    files, rest = [], []
    after, last = wanted.after, wanted.after
    for ledger in ledgers:
        inside = wanted.after < Offset(ledger.ledger_id, 0) and (
            ledger.ledger_id < wanted.upto.ledger_id
        )
        end = Offset(ledger.ledger_id, ledger.entry_count - 1, WHOLE_ENTRY)
        if inside and ledger.copy is not None and ledger.copy.whole:
            if last > after:
                rest.append(Range(wanted.topic, after, last))
            files.append(ledger.copy)
            after = end
        if ledger.ledger_id < wanted.upto.ledger_id and ledger.entry_count:
            last = max(last, end)
    if after < wanted.upto:
        rest.append(Range(wanted.topic, after, wanted.upto))
    return Stitched(tuple(files), tuple(rest))
