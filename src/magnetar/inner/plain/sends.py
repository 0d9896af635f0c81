"""Cuts runs of plain sends out of received bytes. Pure.

A send is *plain* when its command says nothing but producer, sequence id, number of messages and
highest sequence id, in that order, and its entry carries a right checksum:

    totalSize(4) commandSize(4) 08 06 32 size  08 producer 10 sequence [18 messages] [30 highest]
    0e 01 checksum(4) entry

Its varints may have any form. What is not plain stays for ``wire/frames.py``, which reads every
frame there is and agrees with this file on the plain ones.
"""

import re
from struct import Struct

from magnetar.model.varint import VARINT, varint_value

from .checksum import checksum
from .traits import is_usual

Run = tuple[int, list[int], list[bytes], list[int], list[int], list[int], int, int, bool]
"""Producer id; of each send sequence id, entry, checksum, number of messages, highest id; and of
all the entries' bytes and messages, and whether every entry is usual (``traits.py``)."""

_Sends = tuple[list[int], list[bytes], list[int], list[int], list[int]]

PRODUCERS_MAX = 128  # That have runs in one call.
_COUNT_MAX = 2**31 - 1
_SIZES = Struct(">II").unpack_from
_HEAD = re.compile(
    rb"\x08\x06\x32(.)\x08(%b)\x10(%b)(?:\x18(%b))?(?:\x30(%b))?\x0e\x01(.{4})"
    % (VARINT, VARINT, VARINT, VARINT),
    re.DOTALL,
).fullmatch


def cut_sends(data: bytes, position: int, total_size_max: int) -> tuple[int, list[Run]]:
    """Where the plain sends from ``position`` on end, and they: a run for each producer.

    Stops at the first frame that is incomplete, not plain, not a send, or too large, and where
    there are too many producers.
    """
    if not 0 <= position <= len(data) or total_size_max < 0:
        raise ValueError(f"no position or size: {position}, {total_size_max}")
    runs: dict[int, _Sends] = {}
    while len(data) - position > 8:
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        start = position + 8 + command_size + 6  # Of the entry.
        if end > len(data) or total_size > total_size_max or start >= end:
            break
        head = _HEAD(data, position + 8, start)
        if head is None:
            break
        size, producer, sequence, count, highest, expected = head.groups()
        producer_id, message_count = varint_value(producer), varint_value(count or b"\x01")
        if size[0] != command_size - 4 or message_count > _COUNT_MAX:
            break
        entry = data[start:end]
        found = checksum(entry)
        if found != int.from_bytes(expected):
            break
        run = runs.get(producer_id)
        if run is None:
            if len(runs) == PRODUCERS_MAX:
                break
            run = runs[producer_id] = ([], [], [], [], [])
        run[0].append(varint_value(sequence))
        run[1].append(entry)
        run[2].append(found)
        run[3].append(message_count)
        run[4].append(varint_value(highest or b"\x00"))
        position = end
    return position, [(producer_id, *run, *_sums(run)) for producer_id, run in runs.items()]


def _sums(run: _Sends) -> tuple[int, int, bool]:
    _, data, _, counts, _ = run
    return sum(map(len, data)), sum(counts), all(map(is_usual, data, counts))
