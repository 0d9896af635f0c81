"""Cuts runs of plain acknowledgements out of received bytes. Pure.

An ACK is *plain* when it names whole entries one by one and says nothing else, fields in order and
in shortest form:

    totalSize(4) commandSize(4) 08 0a 52 size  08 consumer 10 00  { 1a size 08 ledger 10 entry } ...

Clients send them one by one, each with one entry, or with a list of entries. Either way ids that
differ in nothing but the entry lie at even distances, and are read column by column; the others one
by one. What is not plain stays for ``frames.decode``, which reads every frame there is and agrees
with this file on the plain ones.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from operator import add
from struct import Struct

from magnetar.inner.varint import varint_value
from magnetar.message.columns import count_alike

_SIZES = Struct(">II").unpack_from

# Shortest form: no last byte of zero. Four bytes are 28 bits, nine are 63.
_VARINT_28 = rb"([\x00-\x7f]|[\x80-\xff]{1,3}[\x01-\x7f])"
_VARINT_63 = rb"([\x00-\x7f]|[\x80-\xff]{1,8}[\x01-\x7f])"
_HEAD = re.compile(
    rb"\x08\x0a\x52%b\x08%b\x10\x00(?=\x1a)" % (_VARINT_28, _VARINT_28), re.DOTALL
).match
_ID = re.compile(rb"\x1a(.)\x08%b\x10%b" % (_VARINT_63, _VARINT_63), re.DOTALL).match

_STRETCH_MIN = 8  # shorter ones are quicker one by one
_STRETCH_MAX = 256  # what a look ahead may cost in vain
_ALONE_MAX = 64  # ids of a list that may be read one by one

# A byte of a varint without its top bit.
_GROUP = bytes(byte & 0x7F for byte in range(256))


@dataclass(slots=True)
class AckRun:
    """Consecutive individual acknowledgements of one consumer, as entry ids by ledger.

    Never empty. The ids are in the order of the wire, and what a client named twice is in twice.
    """

    consumer_id: int
    entry_ids: dict[int, list[int]]


def cut_acks(data: bytes, position: int, *, total_size_max: int) -> tuple[AckRun | None, int]:
    """The plain acknowledgements of one consumer from ``position`` on, and where they end.

    Stops at the first frame that is incomplete, not plain, not an ACK, too large, or another
    consumer's: None and ``position`` when that is the first one.
    """
    run: AckRun | None = None
    size = len(data)
    while size - position > 8:
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        if end > size or total_size > total_size_max or total_size != command_size + 4:
            break
        head = _HEAD(data, position + 8, end)
        if head is None or varint_value(head[1]) != end - head.end(1):
            break
        consumer_id = varint_value(head[2])
        if run is None:
            run = AckRun(consumer_id, {})
        elif run.consumer_id != consumer_id:
            break
        first = _ID(data, head.end(), end)
        if first is not None and first.end() == end:
            position = _cut_singles(run, data, first, start=position, size=end - position)
            if position < end:
                break
            continue
        listed = _cut_list(data, head.end(), end)
        if listed is None:
            break
        for ledger_id, entry_ids in listed:
            _extend(run, ledger_id, entry_ids)
        position = end
    return (run if run is not None and run.entry_ids else None), position


def _cut_singles(run: AckRun, data: bytes, match: re.Match[bytes], *, start: int, size: int) -> int:
    """Add the frame at ``start``, of one id, and those right behind that differ in the entry only.

    Returns where they end; ``start`` for an id that is not plain.
    """
    if not _whole(match):
        return start
    found = _column(data, match, start=start, size=size, stop=len(data))
    _extend(run, varint_value(match[2]), found)
    return start + len(found) * size


def _cut_list(data: bytes, position: int, end: int) -> list[tuple[int, list[int]]] | None:
    """The ids from ``position`` to ``end``; None when one of them is not plain.

    Also None when few of them are alike: then protobuf is quicker.
    """
    listed: list[tuple[int, list[int]]] = []
    count = 0
    while position < end:
        if len(listed) > _ALONE_MAX + count // _STRETCH_MIN:
            return None
        match = _ID(data, position, end)
        if match is None or not _whole(match):
            return None
        size = match.end() - position
        found = _column(data, match, start=position, size=size, stop=end)
        listed.append((varint_value(match[2]), found))
        count += len(found)
        position += len(found) * size
    return listed


def _whole(match: re.Match[bytes]) -> bool:
    """The id is as long as it says."""
    return match[1][0] == match.end() - match.end(1)


def _column(data: bytes, match: re.Match[bytes], *, start: int, size: int, stop: int) -> list[int]:
    """The entry of the record at ``start``, and of those behind it that differ in nothing else.

    Records are ``size`` long and end with the entry's varint, which ``match`` found in the first.
    """
    first, behind = match.span(3)
    ahead = start + (_STRETCH_MIN - 1) * size
    head_size = first - start
    if ahead + size > stop or not data.startswith(data[start:first], ahead):
        return [varint_value(match[3])]
    count = count_alike(
        data,
        start,
        size,
        head_size=size,
        varints=[(head_size, behind - start)],
        count_max=min((stop - start) // size, _STRETCH_MAX),
    )
    columns = [data[at : at + (count - 1) * size + 1 : size] for at in range(first, behind)]
    rest = 0
    for column in reversed(columns[2:]):
        count = min(count, len(column) - len(column.lstrip(column[:1])))
        rest = rest << 7 | column[0] & 0x7F
    low = columns[0][:count].translate(_GROUP)
    if len(columns) == 1:
        return list(low)
    high = columns[1][:count].translate(_GROUP)
    return list(map(add, low, map(_above(rest).__getitem__, high)))


@lru_cache(maxsize=64)
def _above(rest: int) -> tuple[int, ...]:
    """What the second byte of a varint stands for, with ``rest`` in the bytes behind it."""
    return tuple(rest << 14 | group << 7 for group in range(128))


def _extend(run: AckRun, ledger_id: int, entry_ids: list[int]) -> None:
    known = run.entry_ids.get(ledger_id)
    if known is None:
        run.entry_ids[ledger_id] = entry_ids
    else:
        known += entry_ids
