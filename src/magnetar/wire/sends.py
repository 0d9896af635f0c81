"""Cuts runs of plain sends out of received bytes. Pure.

A send is *plain* when its command says nothing but producer, sequence id, number of messages and
highest sequence id, in that order and in shortest form, and its entry carries a right checksum:

    totalSize(4) commandSize(4) 08 06 32 size 08 producer 10 sequence [18 messages] [30 highest]
    0e 01 checksum(4) entry

Sends that differ in nothing but sequence ids, checksum and bytes of the entry, a *stretch*, are
cut by a few C loops over all of them; the others one by one. What is not plain stays for
``frames.decode``, which reads every frame there is and agrees with this file on the plain ones.
"""

import re
from functools import lru_cache
from struct import Struct

from google_crc32c import value as crc32c

from magnetar.message.columns import count_alike
from magnetar.message.send_run import SendRun
from magnetar.message.varint import varint_value

_SIZES = Struct(">II").unpack_from
_CHECKSUM = Struct(">I").unpack_from

# Shortest form: no last byte of zero. Four bytes are 28 bits, nine are 63.
_VARINT_28 = rb"([\x00-\x7f]|[\x80-\xff]{1,3}[\x01-\x7f])"
_VARINT_63 = rb"([\x00-\x7f]|[\x80-\xff]{1,8}[\x01-\x7f])"
_PLAIN = re.compile(
    rb"\x08\x06\x32.\x08%b\x10%b(?:\x18%b)?(?:\x30%b)?\x0e\x01"
    % (_VARINT_28, _VARINT_63, _VARINT_28, _VARINT_63),
    re.DOTALL,
).fullmatch

_PRODUCER_AT = 13  # where the producer's id stands in a plain send
_STRETCH_MIN = 8  # shorter ones are quicker one by one
_STRETCH_MAX = 256  # what a look ahead may cost in vain


def cut_sends(
    data: bytes, position: int, *, total_size_max: int, in_stretches: bool = True
) -> tuple[SendRun | None, int]:
    """The plain sends of one producer from ``position`` on, and where they end.

    Stops at the first frame that is incomplete, not plain, not a send, too large, or another
    producer's: None and ``position`` when that is the first one. Without ``in_stretches`` each is
    cut by itself.
    """
    run: SendRun | None = None
    producer = b""
    size = len(data)
    while size - position > 24:
        if producer and not data.startswith(producer, position + _PRODUCER_AT):
            break  # Another's: no varint begins with another.
        total_size, command_size = _SIZES(data, position)
        end = position + 4 + total_size
        payload = position + 8 + command_size
        if end > size or total_size > total_size_max or end <= payload + 6:
            break
        match = _PLAIN(data, position + 8, payload + 2)
        if match is None or data[position + 11] != command_size - 4:
            break
        sender, sequence, messages, highest = match.groups()
        if run is None:
            producer = sender
            run = SendRun(varint_value(sender), [], [], [], [])
        count = 1 if messages is None else varint_value(messages)
        ahead = end + (_STRETCH_MIN - 2) * (end - position)
        # The same sizes and the same producer that far ahead: probably all between are alike.
        if in_stretches and ahead < size and data.startswith(data[position : match.end(1)], ahead):
            taken = _take_stretch(run, data, match, start=position, end=end, count=count)
            if taken:
                position += taken * (end - position)
                continue
        entry = data[payload + 6 : end]
        checksum = _CHECKSUM(data, payload + 2)[0]
        if crc32c(entry) != checksum:
            break
        if highest is not None or run.highest is not None:
            _note_highest(run, (highest,))
        run.sequences.append(sequence)
        run.data.append(entry)
        run.checksums.append(checksum)
        run.message_counts.append(count)
        position = end
    return (run or None), position


def _take_stretch(
    run: SendRun, data: bytes, match: re.Match[bytes], *, start: int, end: int, count: int
) -> int:
    """Add the frames from ``start`` on that are alike, as far as their checksums are right."""
    size, head_size = end - start, match.end() - start
    sequence = (match.start(2) - start, match.end(2) - start)
    highest = None if match[4] is None else (match.start(4) - start, match.end(4) - start)
    alike = count_alike(
        data,
        start,
        size,
        head_size=head_size,
        varints=(sequence,) if highest is None else (sequence, highest),
        count_max=_STRETCH_MAX,
    )
    records = _records(size, head_size, sequence, highest)
    with memoryview(data) as view, view[start : start + alike * size] as stretch:
        sequences, *tops, checksums, entries = zip(*records.iter_unpack(stretch), strict=True)
    found = tuple(map(crc32c, entries))
    if found != checksums:
        alike = next(
            i for i, pair in enumerate(zip(found, checksums, strict=True)) if pair[0] != pair[1]
        )
        sequences, checksums, entries = sequences[:alike], checksums[:alike], entries[:alike]
    if tops or run.highest is not None:
        _note_highest(run, tops[0][:alike] if tops else (None,) * alike)
    run.sequences += sequences
    run.data += entries
    run.checksums += checksums
    run.message_counts += [count] * alike
    return alike


@lru_cache(maxsize=256)
def _records(
    size: int, head_size: int, sequence: tuple[int, int], highest: tuple[int, int] | None
) -> Struct:
    """What unpacks frames of one layout into sequence id, highest one, checksum, and entry."""
    layout, at = ">", 0
    for first, behind in (sequence,) if highest is None else (sequence, highest):
        layout += f"{first - at}x{behind - first}s"
        at = behind
    return Struct(f"{layout}{head_size - at}xI{size - head_size - 4}s")


def _note_highest(run: SendRun, highest: tuple[bytes | None, ...]) -> None:
    """Add the highest sequence ids of sends about to be added; a run without any has no list."""
    if run.highest is None:
        if all(number is None for number in highest):
            return
        run.highest = [b""] * len(run.data)
    run.highest += [number or b"" for number in highest]
