"""Message ids as the protocol has them. Pure."""

from typing import Final

from magnetar.proto import PulsarApi_pb2 as pb

UNSIGNED: Final = 2**64 - 1
"""Masks -1 for a field that cannot hold it: there it is 2**64 - 1."""


def message_id(
    ledger_id: int, entry_id: int, *, partition: int | None = None, batch_index: int | None = None
) -> pb.MessageIdData:
    """The id of an entry, or of a message of its batch; what is None is not set."""
    return pb.MessageIdData(
        ledgerId=ledger_id & UNSIGNED,
        entryId=entry_id & UNSIGNED,
        partition=partition,
        batch_index=batch_index,
    )
