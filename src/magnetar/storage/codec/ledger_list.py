"""The record of a managed ledger: the list of its ledgers. Pure.

    {"version": 1,
     "ledgers": [{"ledgerId": 3, "entries": 10, "size": 1000, "timestamp": 1700000000000}, ...],
     "openLedgerId": 8 or null,
     "trimmedTo": {"ledgerId": 2, "entryId": 9},
     "deletingLedgerIds": [1, ...],
     "deletingOffloaded": [{...}, ...],
     "properties": {"pulsar.topic.epoch": "4", ...}}

``ledgers`` take no more entries; ``timestamp`` is when they were sealed. At most one more is open
for appends, and only its store knows its end. Those being deleted are no longer needed here, but
may still take up space. A ledger that was offloaded has an ``offload`` (``offload_context.py``);
copies that are being deleted are each such an object. ``properties`` are what the owner of the log
keeps with it; there may be none. A record without bytes is a log without ledgers, as in Pulsar.
"""

from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_object import NO_TEXTS, Fields, encode, position
from magnetar.storage.codec.offload_context import (
    OffloadContext,
    decode_context,
    encode_context,
)

NOTHING_UNKNOWN: Final[Mapping[str, Any]] = MappingProxyType({})


class SealedLedger(NamedTuple):
    """A ledger of the log that takes no more entries."""

    ledger_id: int
    last_entry_id: int
    size_bytes: int
    sealed_ms: int
    offload: OffloadContext | None = None
    unknown: Mapping[str, Any] = NOTHING_UNKNOWN


@dataclass(slots=True)
class LedgerListRecord:
    """The record of a log. ``unknown`` fields of later versions are written back."""

    ledgers: list[SealedLedger] = field(default_factory=list)  # Invariant: ids ascend.
    open_id: int | None = None  # Invariant: it is greater than every sealed id.
    trimmed_to: Position = EARLIEST  # The end of the newest ledger removed.
    deleting: list[int] = field(default_factory=list)
    deleting_offloaded: list[OffloadContext] = field(default_factory=list)
    properties: Mapping[str, str] = field(default_factory=lambda: NO_TEXTS)
    unknown: Mapping[str, Any] = field(default_factory=lambda: NOTHING_UNKNOWN)


def encode_ledger_list(record: LedgerListRecord) -> bytes:
    """Encode a record."""
    ledgers = [
        {
            **each.unknown,
            "ledgerId": each.ledger_id,
            "entries": each.last_entry_id + 1,
            "size": each.size_bytes,
            "timestamp": each.sealed_ms,
            **({} if each.offload is None else {"offload": encode_context(each.offload)}),
        }
        for each in record.ledgers
    ]
    return encode(
        {
            **record.unknown,
            "ledgers": ledgers,
            "openLedgerId": record.open_id,
            "trimmedTo": position(record.trimmed_to),
            "deletingLedgerIds": record.deleting,
            **(
                {"deletingOffloaded": list(map(encode_context, record.deleting_offloaded))}
                if record.deleting_offloaded
                else {}
            ),
            **({"properties": dict(record.properties)} if record.properties else {}),
        }
    )


def decode_ledger_list(value: bytes, *, source: str) -> LedgerListRecord:
    """Decode a record. Raises CorruptEntry, naming it."""
    if not value:
        return LedgerListRecord()
    try:
        fields = Fields.of(value)
        record = LedgerListRecord(
            ledgers=fields.objects("ledgers", _sealed),
            open_id=fields.number_or_none("openLedgerId"),
            trimmed_to=fields.position("trimmedTo"),
            deleting=fields.numbers("deletingLedgerIds"),
            deleting_offloaded=fields.objects_if_any("deletingOffloaded", decode_context),
            properties=fields.texts_if_any("properties"),
            unknown=fields.left,
        )
        ids = [ledger.ledger_id for ledger in record.ledgers]
        ids += [] if record.open_id is None else [record.open_id]
        if any(later <= earlier for earlier, later in pairwise(ids)):
            raise fields.wrong("ledgers", ids, "in the order of ids that ascend")
    except InvalidValue as error:
        raise CorruptEntry(
            f"The list of ledgers at {source} cannot be read ({error}): restore the record"
        ) from error
    return record


def _sealed(fields: Fields) -> SealedLedger:
    return SealedLedger(
        fields.number("ledgerId"),
        fields.number("entries", 1) - 1,
        fields.number("size"),
        fields.number("timestamp"),
        fields.object_if_any("offload", decode_context),
        fields.left,
    )
