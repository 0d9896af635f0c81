"""Cuts runs of plain receipts out of received bytes. Pure.

A SEND_RECEIPT is *plain* when it has these fields and no others, in this order, as brokers of ours
and Pulsar's write them:

    totalSize(4) commandSize(4) 08 07 3a size
        08 producer 10 sequence 1a size { 08 ledger 10 entry } 20 highest

What is not plain stays for ``wire/frames.py``, which reads every frame there is.
"""

import re
from struct import Struct

from magnetar.model.varint import VARINT, varint_value

Found = list[tuple[int, list[int], list[int]]]
"""Runs of one producer each: its id, and the sequence ids and highest ones of its receipts."""

_SIZES = Struct(">II").unpack_from
_RECEIPT = re.compile(
    rb"\x08\x07\x3a([\x00-\x7f])(\x08(%b)\x10(%b)\x1a([\x00-\x7f])(\x08%b\x10%b)\x20(%b))"
    % (VARINT, VARINT, VARINT, VARINT, VARINT),
    re.DOTALL,
).fullmatch
_LONG_MAX = 2**64 - 1


def cut_receipts(data: bytes, position: int, total_size_max: int) -> tuple[int, Found]:
    """Where the plain receipts from ``position`` on end, and what they say.

    Stops at the first frame that is incomplete, not plain, no receipt, or too large.
    """
    if not 0 <= position <= len(data) or total_size_max < 0:
        raise ValueError(f"no position or size: {position}, {total_size_max}")
    found: Found = []
    while len(data) - position > 8:
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        if end > len(data) or total_size > total_size_max or total_size != command_size + 4:
            break
        one = _RECEIPT(data, position + 8, end)
        if one is None or one[1][0] != len(one[2]) or one[5][0] != len(one[6]):
            break
        producer, sequence, highest = map(varint_value, (one[3], one[4], one[7]))
        if max(producer, sequence, highest) > _LONG_MAX:
            break
        if not found or found[-1][0] != producer:
            found.append((producer, [], []))
        found[-1][1].append(sequence)
        found[-1][2].append(highest)
        position = end
    return position, found
