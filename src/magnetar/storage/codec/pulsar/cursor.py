"""A cursor as Pulsar's ManagedCursorInfo, and as PositionInfo in an entry of its ledger. Pure.

The properties of a subscription are texts there, too. Those of the cursors that deduplicate and
compact are numbers, and so is the one that says that a subscription is replicated. Pulsar's own
properties of a subscription, as of its delayed messages, are kept and are nobody's here.

Pulsar has no name for two things. The ledgers that a cursor has (``cursor_ledgers.py``) are a
property with a name of ours, which it keeps. How often messages were asked for again is a field
that it passes over and leaves out, since its own brokers forget that, too.
"""

from collections.abc import Iterable
from typing import Final

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.model.position import LONG_MAX, Position
from magnetar.proto.ManagedLedger_pb2 import (
    LongListMap,
    ManagedCursorInfo,
    MessageRange,
    PositionInfo,
)
from magnetar.proto.ManagedLedger_pb2 import Position as PositionMessage
from magnetar.storage.codec.cursor import CursorState, Ranges
from magnetar.storage.codec.pulsar.message import UNKNOWN, parse, parse_entry, unknown_of

NUMBERED: Final = frozenset({"pulsar.dedup", "__compaction"})
"""The cursors whose properties are all numbers."""
REPLICATED: Final = "pulsar.replicated.subscription"
"""The property of a subscription that is a number."""
LEDGERS: Final = "magnetar.ledgers"
"""The property that names the ledgers of a cursor, as numbers between commas."""

POSITION_SIZE_MAX: Final = 4096
"""About the bytes of a position within a record: some 200 holes."""

_INTERNAL: Final = "#pulsar.internal."  # Pulsar's own properties begin so.
_IN_THE_RECORD: Final = -1
_KNOWN: Final = tuple(set(ManagedCursorInfo.DESCRIPTOR.fields_by_name) - {"cursorProperties"})
_WORD: Final = 2**64
_RANGE: Final = 20  # About the bytes of a range,
_NUMBER: Final = 11  # and the most of a number.


def encode_cursor(state: CursorState, *, name: str) -> bytes:
    """Encode the record of a cursor: all of it, or which ledger has the most of it."""
    message = ManagedCursorInfo.FromString(state.unknown.get(UNKNOWN, b""))
    message.markDeleteLedgerId, message.markDeleteEntryId = state.mark
    if state.kept_in is None:
        message.cursorsLedgerId = _IN_THE_RECORD
        _write_acks(message, state, name)
    else:
        message.cursorsLedgerId = state.kept_in
    for key, value in state.properties.items():
        if not _is_number(key, name):
            message.cursorProperties.add(name=key, value=value)
    if state.ledger_ids:
        message.cursorProperties.add(name=LEDGERS, value=",".join(map(str, state.ledger_ids)))
    return message.SerializeToString()


def fits_record(state: CursorState, *, name: str) -> bool:
    """Whether a position is small, and Pulsar takes all of it out of a record.

    What is acknowledged of a batch its brokers read in ledgers alone (4.0.7).
    """
    return not state.batches and _size(state, name) <= POSITION_SIZE_MAX


def encode_position(state: CursorState, *, name: str) -> bytes:
    """Encode an entry of the ledger of a cursor: what its record leaves out."""
    message = PositionInfo(ledgerId=state.mark.ledger_id, entryId=state.mark.entry_id)
    _write_acks(message, state, name)
    return message.SerializeToString()


def decode_cursor(value: bytes, *, source: str) -> CursorState:
    """Decode a record. Raises CorruptEntry, naming it."""
    try:
        message = parse(ManagedCursorInfo, value)
        if not message.HasField("cursorsLedgerId"):
            raise InvalidValue("it does not say where its position is")
        state = CursorState(Position(message.markDeleteLedgerId, message.markDeleteEntryId))
        _read_acks(message, state)
        if message.cursorsLedgerId != _IN_THE_RECORD:
            state.kept_in = message.cursorsLedgerId
        texts = {each.name: each.value for each in message.cursorProperties}
        state.ledger_ids = tuple(map(int, filter(None, texts.pop(LEDGERS, "").split(","))))
        internal = {key: texts.pop(key) for key in list(texts) if key.startswith(_INTERNAL)}
        state.properties |= texts
        message.ClearField("cursorProperties")
        for key, text in internal.items():
            message.cursorProperties.add(name=key, value=text)
        state.unknown = unknown_of(message, _KNOWN)
    except ValueError as error:
        raise _corrupt(source, error) from error
    return state


def decode_position(entry: bytes, state: CursorState, *, source: str) -> CursorState:
    """Add what an entry says to what the record said. Raises CorruptEntry, naming the entry."""
    try:
        message = parse_entry(PositionInfo, entry)
        found = CursorState(
            Position(message.ledgerId, message.entryId),
            properties=dict(state.properties),
            unknown=state.unknown,
            ledger_ids=state.ledger_ids,
            kept_in=state.kept_in,
        )
        _read_acks(message, found)
        for bitmap in message.individualDeletedMessageRanges:
            found.ranges[bitmap.key] = _runs_of_bits(bitmap)
    except ValueError as error:
        raise _corrupt(source, error) from error
    return found


def ranges_size(state: CursorState) -> int:
    """Return how many bytes of a record are its ranges."""
    message = PositionInfo()
    _write_ranges(message, state.ranges)
    return message.ByteSize()


def _write_acks(message: ManagedCursorInfo | PositionInfo, state: CursorState, name: str) -> None:
    _write_ranges(message, state.ranges)
    for key, value in state.properties.items():
        if _is_number(key, name):
            message.properties.add(name=key, value=int(value))
    for (ledger_id, entry_id), words in state.batches:
        place = PositionMessage(ledgerId=ledger_id, entryId=entry_id)
        message.batchedEntryDeletionIndexInfo.add(position=place, deleteSet=words)
    for ledger_id, (entry_ids, counts) in state.redeliveries.items():
        message.redeliveries.add(ledgerId=ledger_id, entryId=entry_ids, count=counts)


def _read_acks(message: ManagedCursorInfo | PositionInfo, state: CursorState) -> None:
    state.ranges = _ranges(message.individualDeletedMessages)
    state.properties |= {each.name: str(each.value) for each in message.properties}
    state.batches = [
        (Position(each.position.ledgerId, each.position.entryId), list(each.deleteSet))
        for each in message.batchedEntryDeletionIndexInfo
    ]
    for each in message.redeliveries:
        if len(each.entryId) != len(each.count):
            raise InvalidValue(f"the counts of redeliveries in ledger {each.ledgerId} do not match")
        state.redeliveries[each.ledgerId] = list(each.entryId), list(each.count)


def _size(state: CursorState, name: str) -> int:
    """Return about how large a position is, without encoding it."""
    size = _RANGE * sum(len(firsts) for firsts, _ in state.ranges.values())
    size += _NUMBER * sum(len(entry_ids) for entry_ids, _ in state.redeliveries.values())
    if name in NUMBERED:
        size += sum(_NUMBER + len(key) for key in state.properties)
    return size


def _is_number(key: str, cursor: str) -> bool:
    return cursor in NUMBERED or key == REPLICATED


def _write_ranges(message: ManagedCursorInfo | PositionInfo, ranges: Ranges) -> None:
    """Write ranges, of which there may be thousands: a message that is copied is the fastest."""
    written = MessageRange()
    lower, upper = written.lowerEndpoint, written.upperEndpoint
    append = message.individualDeletedMessages.append
    for ledger_id, (firsts, lasts) in ranges.items():
        lower.ledgerId = upper.ledgerId = ledger_id
        for first, last in zip(firsts, lasts, strict=True):
            lower.entryId, upper.entryId = first - 1, last
            append(written)


def _ranges(messages: Iterable[MessageRange]) -> Ranges:
    """Read ranges. One that ends in a later ledger has all of the earlier one from its start on."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for each in messages:
        lower, upper = each.lowerEndpoint, each.upperEndpoint
        first = lower.entryId + 1
        if lower.ledgerId != upper.ledgerId:
            _add(found, lower.ledgerId, first, LONG_MAX)
            first = 0
        _add(found, upper.ledgerId, first, upper.entryId)
    return dict(found)


def _add(
    found: dict[int, tuple[list[int], list[int]]], ledger_id: int, first: int, last: int
) -> None:
    firsts, lasts = found.setdefault(ledger_id, ([], []))
    firsts.append(first)
    lasts.append(last)


def _runs_of_bits(bitmap: LongListMap) -> tuple[list[int], list[int]]:
    """Return the first and the last bit of each run of bits that are set."""
    words = b"".join((word % _WORD).to_bytes(8, "little") for word in bitmap.values)
    bits = int.from_bytes(words, "little")
    firsts = _positions(bits & ~(bits << 1))
    lasts = _positions(bits & ~(bits >> 1))
    return firsts, lasts


def _positions(bits: int) -> list[int]:
    text = f"{bits:b}"[::-1]
    return [place for place, bit in enumerate(text) if bit == "1"]


def _corrupt(source: str, error: Exception) -> CorruptEntry:
    return CorruptEntry(
        f"The cursor at {source} cannot be read ({error}): restore the record, or delete it to "
        "start the subscription anew"
    )
