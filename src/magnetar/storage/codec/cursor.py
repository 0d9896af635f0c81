"""The record of a durable cursor. Pure.

    {"version": 1,
     "markDelete": {"ledgerId": 3, "entryId": 7},
     "ranges": [{"ledgerId": 3, "firsts": [9, 20], "lasts": [12, 20]}, ...],
     "batches": [{"ledgerId": 3, "entryId": 15, "ackSet": [13]}, ...],
     "redeliveries": [{"ledgerId": 3, "entryIds": [8, 15], "counts": [2, 1]}, ...],
     "properties": {...},
     "ledgers": [12, ...]}

``ranges`` are acknowledged beyond the mark, as parallel lists of first and last entries.
``batches`` are acknowledged in part, with one bit per message, in 64-bit words; 1 means pending.
``redeliveries`` are not acknowledged and were asked for again: which entries, and how often each.
``ledgers`` belong to whoever reads with the cursor, and are deleted with it. These two fields are
left out where there are none.
"""

import json
from collections.abc import Sequence
from dataclasses import field

from magnetar.errors import CorruptEntry, InvalidValue
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position
from magnetar.storage.codec.json_object import Fields, Json, encode, position

_WORD_MIN = -(2**63)

Ranges = dict[int, tuple[Sequence[int], Sequence[int]]]
"""By ledger, the first entries of the ranges and the last ones."""

Redeliveries = dict[int, tuple[Sequence[int], Sequence[int]]]
"""By ledger, the entries that were asked for again, ascending, and how often each was."""


@dataclass(slots=True)
class CursorState:
    """The record of a cursor. ``unknown`` fields of later versions are written back."""

    mark: Position
    ranges: Ranges = field(default_factory=dict)
    batches: list[tuple[Position, list[int]]] = field(default_factory=list)
    redeliveries: Redeliveries = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    unknown: Json = field(default_factory=dict)
    ledger_ids: tuple[int, ...] = ()
    kept_in: int | None = None
    """The ledger whose last entry has the rest; the mark is an older one then, to start from."""


def encode_cursor(state: CursorState, *, name: str) -> bytes:  # noqa: ARG001
    """Encode a record."""
    return encode(
        {
            **state.unknown,
            "markDelete": position(state.mark),
            "ranges": _range_objects(state),
            "batches": [{**position(place), "ackSet": words} for place, words in state.batches],
            **({"redeliveries": _redelivery_objects(state)} if state.redeliveries else {}),
            "properties": state.properties,
            **({"ledgers": state.ledger_ids} if state.ledger_ids else {}),
        }
    )


def ranges_size(state: CursorState) -> int:
    """Return how many bytes of a record are its ranges."""
    return len(json.dumps(_range_objects(state), separators=(",", ":")))


def decode_cursor(value: bytes, *, source: str) -> CursorState:
    """Decode a record. Raises CorruptEntry, naming it."""
    try:
        fields = Fields.of(value)
        return CursorState(
            mark=fields.position("markDelete"),
            ranges=dict(fields.objects("ranges", _ranges)),
            batches=fields.objects("batches", _batch),
            redeliveries=dict(fields.objects_if_any("redeliveries", _redeliveries)),
            properties=fields.texts("properties"),
            ledger_ids=tuple(fields.numbers("ledgers")) if "ledgers" in fields.left else (),
            unknown=fields.left,
        )
    except InvalidValue as error:
        raise CorruptEntry(
            f"The cursor at {source} cannot be read ({error}): restore the record, or delete it to "
            "start the subscription anew"
        ) from error


def _range_objects(state: CursorState) -> list[Json]:
    return [
        {"ledgerId": ledger_id, "firsts": firsts, "lasts": lasts}
        for ledger_id, (firsts, lasts) in state.ranges.items()
    ]


def _redelivery_objects(state: CursorState) -> list[Json]:
    return [
        {"ledgerId": ledger_id, "entryIds": entry_ids, "counts": counts}
        for ledger_id, (entry_ids, counts) in state.redeliveries.items()
    ]


def _ranges(fields: Fields) -> tuple[int, tuple[list[int], list[int]]]:
    ledger_id = fields.number("ledgerId")
    return ledger_id, _parallel(fields, "firsts", "lasts")


def _redeliveries(fields: Fields) -> tuple[int, tuple[list[int], list[int]]]:
    ledger_id = fields.number("ledgerId")
    return ledger_id, _parallel(fields, "entryIds", "counts")


def _parallel(fields: Fields, one: str, other: str) -> tuple[list[int], list[int]]:
    ones, others = fields.numbers(one), fields.numbers(other)
    if len(ones) != len(others):
        raise fields.wrong(other, others, f"as long as {one}: {len(ones)}")
    return ones, others


def _batch(fields: Fields) -> tuple[Position, list[int]]:
    place = Position(fields.number("ledgerId"), fields.number("entryId"))
    return place, fields.numbers("ackSet", _WORD_MIN)
