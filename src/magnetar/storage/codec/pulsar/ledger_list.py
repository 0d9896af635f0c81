"""The list of a log's ledgers, as Pulsar's ManagedLedgerInfo. Pure.

The last ledger is open for appends where no time says when it was sealed; an empty one that is not
the last is of no use, and is to be deleted. That a topic has ended is a property here, and a field
of its own there. Pulsar has no name for three things, which are fields that it passes over, and
leaves out when it writes the list:

- ``trimmedTo``: then it is the place before the first ledger, which is what the list tells;
- the ledgers and the copies that are being deleted: what a crash left to be deleted stays then.
"""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.position import EARLIEST, Position
from magnetar.proto.ManagedLedger_pb2 import ManagedLedgerInfo
from magnetar.storage.codec.ledger_list import LedgerListRecord, SealedLedger
from magnetar.storage.codec.pulsar.message import UNKNOWN, parse, unknown_of
from magnetar.storage.codec.pulsar.offload_context import is_ours, read_context, write_context

TERMINATED_AT: Final = "pulsar.terminated.position"
"""The property that says where a topic has ended, as ``ledger:entry``."""

_LIST_FIELDS: Final = tuple(ManagedLedgerInfo.DESCRIPTOR.fields_by_name)
_LEDGER_FIELDS: Final = ("ledgerId", "entries", "size", "timestamp")


def encode_ledger_list(record: LedgerListRecord) -> bytes:
    """Encode a record."""
    message = ManagedLedgerInfo.FromString(_kept(record.unknown))
    for each in record.ledgers:
        _write_sealed(message.ledgerInfo.add(), each)
    if record.open_id is not None:
        message.ledgerInfo.add(ledgerId=record.open_id, timestamp=0)
    for name, value in record.properties.items():
        if name == TERMINATED_AT:
            end = message.terminatedPosition
            end.ledgerId, end.entryId = map(int, value.split(":"))
        else:
            message.properties.add(key=name, value=value)
    if record.trimmed_to != EARLIEST:
        message.trimmedTo.ledgerId, message.trimmedTo.entryId = record.trimmed_to
    message.deletingLedgerId.extend(record.deleting)
    for copy in record.deleting_offloaded:
        write_context(message.deletingOffloaded.add(), copy)
    return message.SerializeToString()


def decode_ledger_list(value: bytes, *, source: str) -> LedgerListRecord:
    """Decode a record. Raises CorruptEntry, naming it."""
    try:
        message = parse(ManagedLedgerInfo, value)
        return _record(message)
    except ValueError as error:  # Also where a text is none.
        raise CorruptEntry(
            f"The list of ledgers at {source} cannot be read ({error}): restore the record"
        ) from error


def _record(message: ManagedLedgerInfo) -> LedgerListRecord:
    infos = list(message.ledgerInfo)
    ids = [each.ledgerId for each in infos]
    if any(later <= earlier for earlier, later in pairwise(ids)):
        raise InvalidValue(f"the ledgers {ids} are not in the order of ids that ascend")
    record = LedgerListRecord(
        trimmed_to=_trimmed_to(message), deleting=list(message.deletingLedgerId)
    )
    if infos and not infos[-1].timestamp:
        record.open_id = infos.pop().ledgerId
    for info in infos:
        if info.entries:
            record.ledgers.append(_read_sealed(info))
        elif info.timestamp:
            record.deleting.append(info.ledgerId)
        else:
            raise InvalidValue(f"ledger {info.ledgerId} has no end, and is not the last")
    record.deleting_offloaded = list(map(read_context, message.deletingOffloaded))
    properties = {each.key: each.value for each in message.properties}
    if message.HasField("terminatedPosition"):
        end = message.terminatedPosition
        properties[TERMINATED_AT] = f"{end.ledgerId}:{end.entryId}"
    if properties:
        record.properties = properties
    if unknown := unknown_of(message, _LIST_FIELDS):
        record.unknown = unknown
    return record


def _trimmed_to(message: ManagedLedgerInfo) -> Position:
    if message.HasField("trimmedTo"):
        return Position(message.trimmedTo.ledgerId, message.trimmedTo.entryId)
    return Position(message.ledgerInfo[0].ledgerId, -1) if message.ledgerInfo else EARLIEST


def _write_sealed(info: ManagedLedgerInfo.LedgerInfo, ledger: SealedLedger) -> None:
    info.MergeFromString(_kept(ledger.unknown))
    info.ledgerId, info.entries = ledger.ledger_id, ledger.last_entry_id + 1
    info.size, info.timestamp = ledger.size_bytes, ledger.sealed_ms
    if ledger.offload is not None:
        write_context(info.offloadContext, ledger.offload)


def _read_sealed(info: ManagedLedgerInfo.LedgerInfo) -> SealedLedger:
    found = SealedLedger(info.ledgerId, info.entries - 1, info.size, info.timestamp)
    if is_ours(info.offloadContext):
        found = found._replace(offload=read_context(info.offloadContext))
        info.ClearField("offloadContext")
    unknown = unknown_of(info, _LEDGER_FIELDS)
    return found._replace(unknown=unknown) if unknown else found


def _kept(unknown: Mapping[str, Any]) -> bytes:
    return bytes(unknown.get(UNKNOWN, b""))
