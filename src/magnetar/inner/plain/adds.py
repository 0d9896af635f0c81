"""Frames that add entries to a bookie, its answers to them, and entries as it stores them. Pure.

size(4) before  ledger(8) entry(8) lastConfirmed(8) length(8) digest  0e 01 checksum(4) data
size(4) word(4) code(4)  ledger(8) entry(8)
ledger(8) entry(8) lastConfirmed(8) length(8) digest  0e 01 checksum(4) data

``before`` is a word and a key: the same for all entries of a ledger. The digest covers all that
stands around it but ``before``; the length is that of the ledger with this entry. A message has its
checksum before it, and what is no message has none.
"""

import struct
from collections.abc import Callable

from google_crc32c import extend, value

from .checksum import checksum

# Entries that are smaller on average, heads and all, are joined into one piece.
JOINED_SIZE_MAX = 4096

ADD = 2 << 24 | 1 << 16
_OPCODE = 0xFFFF0000

_HEAD = struct.Struct(">qqqq")
_BESIDE = _HEAD.size + 4
_ANSWER = struct.Struct(">IIiqq")
_ANSWER_SIZE = _ANSWER.size - 4

_MESSAGE = b"\x0e\x01"
_MESSAGE_HEAD_SIZE = 6

Digest = Callable[[bytes, bytes], bytes]
"""The digest of what stands before the data of an entry, and the data."""


def add_frames(  # noqa: PLR0917 - the compiled ones have no others
    before: bytes,
    ledger_id: int,
    first: int,
    last_confirmed: int,
    length: int,
    data: list[bytes],
    checksums: list[int] | None,
) -> list[bytes]:
    """Adds of consecutive entries with CRC32-C as their digest: as pieces, one behind the other.

    ``length`` is that of the ledger before the first of them.
    """
    return frames_with(_crc32c, before, ledger_id, first, last_confirmed, length, data, checksums)


def frames_with(  # noqa: PLR0917 - as ``add_frames``
    digest: Digest,
    before: bytes,
    ledger_id: int,
    first: int,
    last_confirmed: int,
    length: int,
    data: list[bytes],
    checksums: list[int] | None,
) -> list[bytes]:
    """The same with another digest."""
    if checksums is not None and len(data) != len(checksums):
        raise ValueError("lists of different lengths")
    pieces = []
    for index, each in enumerate(data):
        message_head = b"" if checksums is None else _MESSAGE + checksums[index].to_bytes(4)
        length += len(message_head) + len(each)
        head = _HEAD.pack(ledger_id, first + index, last_confirmed, length)
        frame = before + head + digest(head + message_head, each) + message_head
        pieces += [(len(frame) + len(each)).to_bytes(4) + frame, each]
    joined = sum(map(len, pieces)) < JOINED_SIZE_MAX * len(data)
    return [b"".join(pieces)] if joined else pieces


def cut_added(data: bytes, position: int) -> tuple[list[int], int]:
    """The answers from ``position`` on that say that an entry was added, and where they end.

    They are the ledger, the first and the last of consecutive entries, for each range, one behind
    the other. Stops at the first answer of another kind, and where one is not all in ``data``.
    """
    if not 0 <= position <= len(data):
        raise ValueError(f"no position: {position}")
    ranges: list[int] = []
    while len(data) - position >= _ANSWER.size:
        size, word, code, ledger_id, entry_id = _ANSWER.unpack_from(data, position)
        if size != _ANSWER_SIZE or word & _OPCODE != ADD or code:
            break
        if ranges and ranges[-3] == ledger_id and ranges[-1] == entry_id - 1:
            ranges[-1] = entry_id
        else:
            ranges += (ledger_id, entry_id, entry_id)
        position += _ANSWER.size
    return ranges, position


def open_stored(
    stored: list[bytes],
    position: int,
    ledger_id: int,
    first: int,
    messages: bool,  # noqa: FBT001 - the compiled ones have no others
) -> tuple[list[bytes], list[int]]:
    """The data of consecutive entries with CRC32-C as their digest, and their checksums.

    Those in ``stored`` from ``position`` on, of which ``first`` is the id. Ends before the first
    that is another one, that its digest is not of, or that is no message with nothing but a
    checksum before it where these are ``messages``.
    """
    if not 0 <= position <= len(stored):
        raise ValueError(f"no position: {position}")
    data, checksums = [], []
    for entry_id, each in enumerate(stored[position:], first):
        head, digest, payload = each[: _HEAD.size], each[_HEAD.size : _BESIDE], each[_BESIDE:]
        if len(each) < _BESIDE or _HEAD.unpack(head)[:2] != (ledger_id, entry_id):
            break
        if _crc32c(head, payload) != digest:
            break
        if messages:
            if len(payload) < _MESSAGE_HEAD_SIZE or not payload.startswith(_MESSAGE):
                break
            payload = payload[_MESSAGE_HEAD_SIZE:]
        data.append(payload)
        checksums.append(checksum(payload))
    return data, checksums


def _crc32c(head: bytes, data: bytes) -> bytes:
    return int(extend(value(head), data)).to_bytes(4)
