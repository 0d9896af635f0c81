"""The frames of BookKeeper's protocol, version 2: bytes to values and back. Pure.

A frame is its size in four bytes, a word (version, opcode, flags), and what the opcode says. Adds
and reads are answered with a code, the ledger and the entry, in any order. Figures: BookKeeper's
BookieProtocol and BookieProtoEncoding.
"""

import struct
from dataclasses import field
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple

from magnetar import inner
from magnetar.errors import ConnectionLost, CorruptEntry, MagnetarError
from magnetar.inner.plain.adds import ADD
from magnetar.late_dataclass import dataclass

LAST_ENTRY: Final = -1
"""As an entry id, the last entry that a bookie has of a ledger."""


class Flag(IntFlag):
    """What else a request asks for."""

    NONE = 0
    FENCE = 1
    RECOVERY_ADD = 2
    HIGH_PRIORITY = 4


class Code(IntEnum):
    """What a bookie answers."""

    OK = 0
    NO_LEDGER = 1
    NO_ENTRY = 2
    BAD_REQUEST = 100
    IO_ERROR = 101
    UNAUTHORIZED = 102
    BAD_VERSION = 103
    FENCED = 104
    READ_ONLY = 105
    TOO_MANY_REQUESTS = 106
    UNKNOWN_LEDGER_STATE = 107


_VERSION: Final = 2 << 24
_READ: Final = _VERSION | 2 << 16
_BATCH_READ: Final = _VERSION | 7 << 16
_OPCODE: Final = 0xFFFF0000
_VERSION_3: Final = 0x0A  # A frame of version 3 begins so: a header, of protobuf's field 1.

_ANSWER: Final = struct.Struct(">IIiqq")  # size, word, code, ledger, entry
_READ_REQUEST: Final = struct.Struct(">IIqq")
_BATCH_REQUEST: Final = struct.Struct(">IIqqqiq")


def read_frame(ledger_id: int, entry_id: int, flags: Flag = Flag.NONE, key: bytes = b"") -> bytes:
    """The frame that asks for an entry; ``key`` only where it fences."""
    return _READ_REQUEST.pack(20 + len(key), _READ | flags, ledger_id, entry_id) + key


def batch_read_frame(
    ledger_id: int, first: int, request_id: int, count_max: int, bytes_max: int
) -> bytes:
    """The frame that asks for consecutive entries: at least one, if it is there."""
    return _BATCH_REQUEST.pack(40, _BATCH_READ, ledger_id, first, request_id, count_max, bytes_max)


class EntryRead(NamedTuple):
    """The answer to a read."""

    code: int
    ledger_id: int
    entry_id: int  # As it was asked for: ``LAST_ENTRY`` stays that.
    stored: bytes  # The entry with its head and digest; empty where the code is not OK.


class BatchRead(NamedTuple):
    """The answer to a batch read."""

    code: int
    request_id: int
    stored: list[bytes]


class Added(NamedTuple):
    """Answers that say that consecutive entries were added."""

    ledger_id: int
    first: int
    last: int


@dataclass(slots=True)
class Answers:
    """What arrived from a bookie, in whole frames."""

    added: list[Added] = field(default_factory=list)
    failed: list[tuple[int, int, int]] = field(default_factory=list)  # Ledger, entry, code.
    reads: list[EntryRead] = field(default_factory=list)
    batches: list[BatchRead] = field(default_factory=list)


def cut_answers(data: bytes) -> tuple[Answers, int]:
    """The answers in ``data``, and where they end: what follows is not a whole frame yet.

    Raises ConnectionLost where a bookie wants to know who asks, which it says in version 3, and
    CorruptEntry for what none would send.
    """
    answers = Answers()
    at, end = 0, len(data)
    while True:
        ranges, at = inner.cut_added(data, at)
        answers.added += map(Added._make, zip(*[iter(ranges)] * 3, strict=True))
        if end - at < _ANSWER.size:
            break
        size, word, code, ledger_id, entry_id = _ANSWER.unpack_from(data, at)
        if end - at < 4 + size:
            break
        opcode = word & _OPCODE
        if opcode == ADD and code != Code.OK:
            answers.failed.append((ledger_id, entry_id, code))
        elif opcode == _READ:
            stored = data[at + _ANSWER.size : at + 4 + size]
            answers.reads.append(EntryRead(code, ledger_id, entry_id, stored))
        elif opcode == _BATCH_READ and size >= _ANSWER.size - 4 + 8:
            answers.batches.append(_batch(data, at + _ANSWER.size, at + 4 + size, code))
        else:
            raise _foreign(word)
        at += 4 + size
    if end - at >= 8 and data[at + 4] != _VERSION >> 24:
        raise _foreign(int.from_bytes(data[at + 4 : at + 8], "big"))
    return answers, at


def _foreign(word: int) -> MagnetarError:
    """What is said of a frame that is no answer of version 2."""
    if word >> 24 == _VERSION_3:
        return ConnectionLost(
            "a bookie answers nobody whom it does not know: set what this broker shows "
            "(bookkeeperTLSClientAuthentication), or let the bookie know its role"
        )
    return CorruptEntry(f"a bookie sent a frame that none would: {word:#x}")


def _batch(data: bytes, at: int, end: int, code: int) -> BatchRead:
    request_id = int.from_bytes(data[at : at + 8], "big", signed=True)
    at += 8
    stored = []
    while at < end:
        size = int.from_bytes(data[at : at + 4], "big")
        if size > end - at - 4:
            raise CorruptEntry(f"a bookie sent an entry of {size} bytes in {end - at - 4}")
        stored.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return BatchRead(code, request_id, stored)


def frame_size(data: bytes) -> int:
    """Bytes of the frame that begins here, with its size; at least that of an answer."""
    return max(_ANSWER.size, 4 + int.from_bytes(data[:4], "big")) if len(data) >= 4 else 4
