"""Whether SQLite's write-ahead log is all there, asked before SQLite opens the database.

SQLite believes a log up to the first page that fails its checksum, and takes a log that is gone
for an empty one: after a crash, a flipped bit or a lost file would take committed changes back
without a word. But ``-shm``, the index that its processes share, says how many pages were
committed. Where it outlived the crash, the log must hold as many. (A loss of power may take the
index along; then nobody knows, and the log is believed as SQLite does.)

    log     header: magic | version | page size | count | salt (8) | checksum (8), big-endian
            page:   number | size of the database after a commit, else 0 | salt | checksum | page
    index   the same 48 bytes twice, in the machine's own order: version 3007000 | ...
            | at 16 the number of pages committed | ... | at 32 the salt of the log | ...

Pages are chained: each checksum begins with the one before.
"""

import struct
import sys
from array import array
from functools import lru_cache
from operator import mul
from pathlib import Path
from typing import Final, NamedTuple

from magnetar.errors import StorageError

_MAGIC_LITTLE: Final = 0x377F0682
_MAGIC_BIG: Final = 0x377F0683
_VERSION: Final = 3007000
_HEADER: Final = struct.Struct(">IIII8sII")
_PAGE_HEADER: Final = struct.Struct(">II8sII")
_COVERED: Final = 8  # Bytes of a page's header that its checksum covers; then comes the page.
_INDEX_COPY: Final = 48
_PAGES_AT: Final = 16
_SALT_AT: Final = 32
_WORD: Final = 2**32


class Promise(NamedTuple):
    """What the index says of the log."""

    pages: int
    salt: bytes


class Held(NamedTuple):
    """What the log holds: pages up to its last whole commit. The salt is None: not a log at all."""

    pages: int
    salt: bytes | None


def check_log(path: Path) -> None:
    """Raises StorageError, naming file and remedy, when commits of the database are missing.

    Blocking, for a thread. To be called before the database is opened: opening it mends the traces.
    """
    index, log = path.with_name(f"{path.name}-shm"), path.with_name(f"{path.name}-wal")
    promise = promised(_bytes_of(index) or b"")
    if promise is None or not promise.pages:
        return
    data = _bytes_of(log)
    held = held_by(data or b"")
    if held.salt is not None and held.salt != promise.salt:
        return  # The index is of an earlier log: it survived a loss of power, and says nothing.
    if held.pages >= promise.pages:
        return
    how = "is missing" if data is None else "is damaged"
    raise StorageError(
        f"{log} {how}: {promise.pages - held.pages} of {promise.pages} pages with the last changes "
        f"cannot be read. Restore it, or the folder from a backup; to go on without those changes, "
        f"remove {index.name}"
    )


def promised(index: bytes) -> Promise | None:
    """How many pages were committed; None when the index does not say."""
    copy = index[:_INDEX_COPY]
    if len(index) < 2 * _INDEX_COPY or copy != index[_INDEX_COPY : 2 * _INDEX_COPY]:
        return None
    if struct.unpack_from("=I", copy)[0] != _VERSION:
        return None
    (pages,) = struct.unpack_from("=I", copy, _PAGES_AT)
    return Promise(pages, copy[_SALT_AT : _SALT_AT + 8])


def held_by(log: bytes) -> Held:
    """How many pages can be believed, as SQLite has it."""
    if len(log) < _HEADER.size:
        return Held(0, None)
    magic, version, page_size, _, salt, *checksum = _HEADER.unpack_from(log)
    if magic not in (_MAGIC_LITTLE, _MAGIC_BIG) or version != _VERSION:
        return Held(0, None)
    order = "little" if magic == _MAGIC_LITTLE else "big"
    chain = _extend((0, 0), log[: _HEADER.size - 8], order)
    if list(chain) != checksum:
        return Held(0, None)
    committed = 0
    step = _PAGE_HEADER.size + page_size
    places = range(_HEADER.size, len(log) - step + 1, step)
    for number, at in enumerate(places, start=1):
        _, commit, page_salt, *checksum = _PAGE_HEADER.unpack_from(log, at)
        page = log[at : at + _COVERED] + log[at + _PAGE_HEADER.size : at + step]
        chain = _extend(chain, page, order)
        if page_salt != salt or list(chain) != checksum:
            break
        if commit:
            committed = number
    return Held(committed, salt)


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read ({error}): check the disk") from error


def _extend(chain: tuple[int, int], data: bytes, order: str) -> tuple[int, int]:
    """The checksum of what came before and ``data``: for each two words, a += x + b, b += y + a.

    Written out that is a sum of words times Fibonacci numbers, which C-level loops can add up.
    """
    words = array("I", data)
    if order != sys.byteorder:
        words.byteswap()
    first, second, (before, here, after) = _factors(len(words))
    a, b = chain
    return (
        (before * a + here * b + sum(map(mul, words, first))) % _WORD,
        (here * a + after * b + sum(map(mul, words, second))) % _WORD,
    )


@lru_cache(maxsize=8)  # Of the header, and of the pages of one or two databases.
def _factors(words: int) -> tuple["array[int]", "array[int]", tuple[int, int, int]]:
    """What each word counts in the first and in the second half, and what the start counts."""
    numbers = [1, 0, 1]  # Fibonacci's, from the one before the zeroth.
    while len(numbers) < words + 3:
        numbers.append((numbers[-1] + numbers[-2]) % _WORD)
    first, second = array("I"), array("I")
    for k in range(words // 2 - 1, -1, -1):
        # numbers[n + 1] is the n-th.
        first.extend((numbers[2 * k + 2], numbers[2 * k + 1]))
        second.extend((numbers[2 * k + 3], numbers[2 * k + 2]))
    return first, second, (numbers[words], numbers[words + 1], numbers[words + 2])
