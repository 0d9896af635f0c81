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
from struct import Struct

from google_crc32c import value as crc32c

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

_STRETCH_MIN = 8  # shorter ones are quicker one by one
_STRETCH_MAX = 256  # what a look ahead may cost in vain

# Bytes of a varint by kind: with more to come, last, last and zero. The second table is for
# varints of one byte, where zero is as good as any.
_KINDS = bytes((not byte) + 2 * (byte > 0x7F) for byte in range(256))
_KINDS_SINGLE = bytes(2 * (byte > 0x7F) for byte in range(256))


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
        elif sender != producer:
            break
        count = 1 if messages is None else varint_value(messages)
        ahead = end + (_STRETCH_MIN - 2) * (end - position)
        if in_stretches and ahead < size and data.startswith(data[position : position + 11], ahead):
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
    size = end - start
    alike = _count_alike(data, start, size, match)
    fields = [match.span(2)] if match[4] is None else [match.span(2), match.span(4)]
    layout = ">"
    at = start
    for first, behind in fields:
        layout += f"{first - at}x{behind - first}s"
        at = behind
    layout += f"{match.end() - at}xI{end - match.end() - 4}s"
    with memoryview(data) as view, view[start : start + alike * size] as stretch:
        *varints, checksums, entries = zip(*Struct(layout).iter_unpack(stretch), strict=True)
    found = tuple(map(crc32c, entries))
    if found != checksums:
        alike = next(
            i for i, pair in enumerate(zip(found, checksums, strict=True)) if pair[0] != pair[1]
        )
    _note_highest(run, varints[1][:alike] if len(varints) > 1 else (None,) * alike)
    run.sequences += varints[0][:alike]
    run.data += entries[:alike]
    run.checksums += checksums[:alike]
    run.message_counts += [count] * alike
    return alike


def _count_alike(data: bytes, start: int, size: int, match: re.Match[bytes]) -> int:
    """How many frames of ``size`` bytes from ``start`` on are laid out as the first one, ``match``.

    Column by column: byte n of all of them is one slice with a stride. Outside of the sequence ids
    they must be equal, inside of one kind.
    """
    alike = min((len(data) - start) // size, _STRETCH_MAX)
    kinds: dict[int, bytes] = {}
    for group in (2, 4):
        first, behind = match.span(group)
        table = _KINDS if behind - first > 1 else _KINDS_SINGLE
        kinds.update(dict.fromkeys(range(first, behind), table))
    for at in range(start, match.end()):
        column = data[at : start + alike * size : size]
        if at in kinds:
            column = column.translate(kinds[at])
        same = column[:1]
        if column != same * alike:
            alike -= len(column.lstrip(same))
    return alike


def _note_highest(run: SendRun, highest: tuple[bytes | None, ...]) -> None:
    """Add the highest sequence ids of sends about to be added; a run without any has no list."""
    if run.highest is None:
        if all(number is None for number in highest):
            return
        run.highest = [b""] * len(run.data)
    run.highest += [number or b"" for number in highest]
