"""Which ledgers a record names. Pure.

Rather one too many: a ledger that a record may name is not deleted.
"""

from typing import Final

from magnetar.errors import CorruptEntry
from magnetar.proto.ManagedLedger_pb2 import ManagedCursorInfo
from magnetar.storage.codec.pulsar.ledger_list import decode_ledger_list
from magnetar.storage.codec.pulsar.message import parse
from magnetar.storage.codec.pulsar.schemas import decode_locator

IN_THE_RECORD: Final = -1


def named_by_log(value: bytes, *, source: str) -> set[int]:
    """Those of a managed ledger, also what it is deleting. Raises CorruptEntry."""
    record = decode_ledger_list(value, source=source)
    named = {*(each.ledger_id for each in record.ledgers), *record.deleting}
    return named if record.open_id is None else named | {record.open_id}


def named_by_cursor(value: bytes, *, source: str) -> set[int]:
    """That of its position, and all numbers among its properties. Raises CorruptEntry.

    ``IN_THE_RECORD`` is among them where no ledger has the position. Compaction and Pulsar's
    delayed messages have ledgers that are properties; that of compaction is with the position.
    """
    try:
        message = parse(ManagedCursorInfo, value)
    except ValueError as error:
        raise CorruptEntry(
            f"The cursor at {source} cannot be read ({error}): restore the record"
        ) from error
    texts = ",".join(each.value for each in message.cursorProperties).split(",")
    return {
        message.cursorsLedgerId,
        *(each.value for each in message.properties),
        *(int(text) for text in texts if text.isascii() and text.isdigit()),
    }


def named_by_schema(value: bytes, *, source: str) -> set[int]:
    """Those of all versions. Raises CorruptEntry."""
    return {each.ledger_id for each in decode_locator(value, source=source)}
