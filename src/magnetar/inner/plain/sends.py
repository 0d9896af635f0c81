"""Cuts runs of plain sends out of received bytes. Pure.

A send is *plain* when its command says nothing but producer, sequence id, number of messages,
transaction and highest sequence id, in that order, and its entry carries a right checksum:

    totalSize(4) commandSize(4) 08 06 32 size  08 producer 10 sequence [18 messages]
    [20 least 28 most] [30 highest]  0e 01 checksum(4) entry

Its varints may have any form. What is not plain stays for ``wire/frames.py``, which reads every
frame there is and agrees with this file on the plain ones.
"""

import re
from struct import Struct

from magnetar.model.varint import VARINT, varint_value

from .checksum import checksum
from .traits import is_usual

Transaction = tuple[int, int] | None
"""The most and the least significant bits of its id."""

Run = tuple[
    int, list[int], list[bytes], list[int], list[int], list[int], int, int, bool, Transaction
]
"""Producer id; of each send sequence id, entry, checksum, number of messages, highest id; and of
all the entries' bytes and messages, whether every entry is usual (``traits.py``), and the
transaction that all of them are part of."""

_Sends = tuple[list[int], list[bytes], list[int], list[int], list[int], list[bool]]

RUNS_MAX = 128  # In one call.
_COUNT_MAX = 2**31 - 1
_SIZES = Struct(">II").unpack_from
_HEAD = re.compile(
    rb"\x08\x06\x32(.)\x08(%b)\x10(%b)(?:\x18(%b))?(?:\x20(%b)\x28(%b))?(?:\x30(%b))?\x0e\x01(.{4})"
    % (VARINT, VARINT, VARINT, VARINT, VARINT, VARINT),
    re.DOTALL,
).fullmatch


def cut_sends(data: bytes, position: int, total_size_max: int) -> tuple[int, list[Run]]:
    """Where the plain sends from ``position`` on end, and they, as runs.

    A producer has one run, or one after the other where its transaction changes. Stops at the first
    frame that is incomplete, not plain, not a send, or too large, and where there are too many
    runs.
    """
    if not 0 <= position <= len(data) or total_size_max < 0:
        raise ValueError(f"no position or size: {position}, {total_size_max}")
    runs: list[tuple[int, Transaction, _Sends]] = []
    last: dict[int, tuple[Transaction, _Sends]] = {}  # Of each producer.
    while len(data) - position > 8:
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        start = position + 8 + command_size + 6  # Of the entry.
        if end > len(data) or total_size > total_size_max or start >= end:
            break
        head = _HEAD(data, position + 8, start)
        if head is None:
            break
        size, producer, sequence, count, least, most, highest, expected = head.groups()
        producer_id, message_count = varint_value(producer), varint_value(count or b"\x01")
        if size[0] != command_size - 4 or message_count > _COUNT_MAX:
            break
        entry = data[start:end]
        found = checksum(entry)
        if found != int.from_bytes(expected):
            break
        transaction, said = None, b""
        if least is not None:
            transaction = (varint_value(most), varint_value(least))
            said = b"\xb0\x01%b\xb8\x01%b" % (least, most)
        known = last.get(producer_id)
        if known is None or known[0] != transaction:
            if len(runs) == RUNS_MAX:
                break
            known = last[producer_id] = (transaction, ([], [], [], [], [], []))
            runs.append((producer_id, *known))
        run = known[1]
        run[0].append(varint_value(sequence))
        run[1].append(entry)
        run[2].append(found)
        run[3].append(message_count)
        run[4].append(varint_value(highest or b"\x00"))
        run[5].append(is_usual(entry, message_count, said))
        position = end
    return position, [
        (producer_id, *run[:5], sum(map(len, run[1])), sum(run[3]), all(run[5]), transaction)
        for producer_id, transaction, run in runs
    ]
