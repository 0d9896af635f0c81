"""What processes say to each other of ledgers: requests and answers as bytes. Pure.

    request   number | what | ledger | first entry | how many | how many bytes
    answer    number | error, 0: none | length | body

The body of an answer about entries is their count, their lengths, their checksums and they
themselves; of an opened ledger it is its end; of an error, its text.
"""

import struct
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from magnetar.errors import (
    CorruptEntry,
    EntryNotFound,
    LedgerFenced,
    LedgerNotFound,
    StorageError,
    WriteFailed,
)
from magnetar.storage.ledger.store import LedgerEnd, LedgerEntries

REQUEST: Final = struct.Struct("<IBqqqq")
ANSWER: Final = struct.Struct("<IBI")
_END: Final = struct.Struct("<qq")
_COUNT: Final = struct.Struct("<I")
_ERRORS: Final = (
    StorageError,  # Any other of its kind.
    LedgerNotFound,
    EntryNotFound,
    CorruptEntry,
    LedgerFenced,
    WriteFailed,
)


class Asked(IntEnum):
    """What is asked about a ledger."""

    OPEN = 1
    READ = 2
    DELETE = 3


class LedgerRequest(NamedTuple):
    """A request. The last three are of ``READ`` alone: from where, and how much at most."""

    number: int
    what: int
    ledger_id: int
    first: int = 0
    entries: int = 0
    size: int = 0


def encode_end(end: LedgerEnd) -> bytes:
    return _END.pack(*end)


def decode_end(body: bytes) -> LedgerEnd:
    return LedgerEnd(*_END.unpack(body))


def encode_entries(entries: LedgerEntries) -> bytes:
    count = len(entries.data)
    tables = struct.pack(f"<I{count}I{count}I", count, *map(len, entries.data), *entries.checksums)
    return b"".join([tables, *entries.data])


def decode_entries(body: bytes) -> LedgerEntries:
    (count,) = _COUNT.unpack_from(body)
    numbers = struct.unpack_from(f"<{2 * count}I", body, _COUNT.size)
    start = _COUNT.size + 8 * count
    bounds = pairwise(accumulate(numbers[:count], initial=start))
    return LedgerEntries([body[at:end] for at, end in bounds], list(numbers[count:]))


def encode_error(error: StorageError) -> tuple[int, bytes]:
    """Its number, from 1 on, and its text."""
    kind = type(error)
    return 1 + (_ERRORS.index(kind) if kind in _ERRORS else 0), str(error).encode()


def decode_error(number: int, body: bytes) -> StorageError:
    return _ERRORS[number - 1](body.decode())
