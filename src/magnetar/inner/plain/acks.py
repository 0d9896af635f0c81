"""Cuts runs of plain acknowledgements out of received bytes. Pure.

An ACK is *plain* when it names whole entries one by one and says nothing else, in this order:

    totalSize(4) commandSize(4) 08 0a 52 size  08 consumer 10 00  { 1a size 08 ledger 10 entry } ...

Clients send them one by one, each with one entry, or with a list of entries. Ids have 63 bits. What
is not plain stays for ``wire/frames.py``, which reads every frame there is.
"""

import re
from struct import Struct

from magnetar.model.varint import VARINT, varint_value

Found = dict[int, dict[int, list[int]]]
"""By consumer id and ledger id: entry ids."""

_ID_MAX = 2**63 - 1
_SIZES = Struct(">II").unpack_from
_HEAD = re.compile(rb"\x08\x0a\x52(%b)(\x08(%b)\x10\x00)(?=\x1a)" % (VARINT, VARINT)).match
_ID = re.compile(rb"\x1a(.)(\x08(%b)\x10(%b))" % (VARINT, VARINT), re.DOTALL).match


def cut_acks(data: bytes, position: int, total_size_max: int) -> tuple[int, Found]:
    """Where the plain acknowledgements from ``position`` on end, and what they acknowledge.

    Stops at the first frame that is incomplete, not plain, not an ACK, or too large.
    """
    if not 0 <= position <= len(data) or total_size_max < 0:
        raise ValueError(f"no position or size: {position}, {total_size_max}")
    found: Found = {}
    while len(data) - position > 8:
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        if end > len(data) or total_size > total_size_max or total_size != command_size + 4:
            break
        head = _HEAD(data, position + 8, end)
        if head is None or varint_value(head[1]) != end - head.start(2):
            break
        ids = _ids(data, head.end(), end)
        if ids is None:
            break
        ledgers = found.setdefault(varint_value(head[3]), {})
        for ledger_id, entry_id in ids:
            ledgers.setdefault(ledger_id, []).append(entry_id)
        position = end
    return position, found


def _ids(data: bytes, position: int, end: int) -> list[tuple[int, int]] | None:
    """The ledger and entry ids up to ``end``; None when one of them is not plain."""
    ids = []
    while position < end:
        one = _ID(data, position, end)
        if one is None or one[1][0] != len(one[2]):
            return None
        ledger_id, entry_id = varint_value(one[3]), varint_value(one[4])
        if ledger_id > _ID_MAX or entry_id > _ID_MAX:
            return None
        ids.append((ledger_id, entry_id))
        position = one.end()
    return ids
