"""What the entries of a row group are, beside the values of their messages. Pure.

With it and the column ``value`` every entry can be made again. It lies in the file right behind
its row group, where no reader of Parquet looks:

    size(8) of what follows when it is uncompressed, then compressed with zstd:
    entries(4) heads(4)
    of all entries: how(1 each) compression(1 each) rows(4 each) checksum(4 each) size(4 each)
    of all heads: size(4 each)
    of each entry its metadata, or the whole of it where it is not made again; then the heads

Numbers are little-endian. A *head* is what a message of a batch says of itself
(``magnetar.message.batch``).
"""

import sys
from collections.abc import Sequence
from enum import IntEnum
from itertools import accumulate, pairwise
from typing import Final

import numpy as np

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.message import entry as entry_bytes
from magnetar.message.compression import CompressionType, compress, decompress

SIZE_MAX: Final = 1 << 30
"""The envelopes of a row group, uncompressed: a bound on what a damaged file can ask for."""

_WIDTHS: Final = ("u1", "u1", "<u4", "<u4", "<u4")


class EntryRecipe(IntEnum):
    """How an entry is made again."""

    WHOLE = 0  # It is in the envelope as it was.
    ONE = 1  # Its payload is the value of its one row.
    BATCH = 2  # Its payload is the values of its rows, each behind its head.


class Values:
    """The values of rows: the bytes of all, and where each one's begin."""

    __slots__ = ("_data", "_places")

    def __init__(self, places: Sequence[int], data: memoryview) -> None:
        self._places = places
        self._data = data

    def __getitem__(self, row: int) -> bytes:
        return bytes(self._data[self._places[row] : self._places[row + 1]])


class Envelopes:
    """The envelopes of consecutive entries: parallel lists, and the heads of all their batches."""

    def __init__(self) -> None:
        self.how: list[int] = []
        self.compression: list[int] = []
        self.rows: list[int] = []
        self.checksums: list[int] = []
        self.parts: list[bytes] = []  # The metadata of each entry, or the whole of it.
        self.heads: list[bytes] = []

    def __len__(self) -> int:
        return len(self.how)

    def add(
        self,
        how: EntryRecipe,
        part: bytes,
        *,
        checksum: int,
        rows: int,
        compression: int = 0,
        heads: Sequence[bytes] = (),
    ) -> None:
        self.how.append(how)
        self.compression.append(compression)
        self.rows.append(rows)
        self.checksums.append(checksum)
        self.parts.append(part)
        self.heads += heads

    def encode(self) -> bytes:
        sizes = list(map(len, self.parts))
        columns = (self.how, self.compression, self.rows, self.checksums, sizes)
        data = b"".join(
            [
                np.array([len(self), len(self.heads)], "<u4").tobytes(),
                *(np.array(c, w).tobytes() for c, w in zip(columns, _WIDTHS, strict=True)),
                np.array(list(map(len, self.heads)), "<u4").tobytes(),
                *self.parts,
                *self.heads,
            ]
        )
        return len(data).to_bytes(8, "little") + compress(CompressionType.ZSTD, data)

    @classmethod
    def decode(cls, encoded: bytes) -> "Envelopes":
        """Raises CorruptEntry."""
        size = int.from_bytes(encoded[:8], "little")
        if size > SIZE_MAX:
            raise CorruptEntry(f"{size} bytes of envelopes; at most {SIZE_MAX} are written")
        data = decompress(CompressionType.ZSTD, encoded[8:], size, size_max=SIZE_MAX)
        place = 0

        def take(width: str, count: int) -> list[int]:
            nonlocal place
            numbers = np.frombuffer(data, width, count, place)
            place += numbers.nbytes
            return [int(each) for each in numbers.tolist()]

        def cut(sizes: list[int]) -> list[bytes]:
            nonlocal place
            ends = list(accumulate(sizes, initial=place))
            place = ends[-1]
            return [data[start:end] for start, end in pairwise(ends)]

        found = cls()
        try:
            entries, heads = take("<u4", 2)
            columns = [take(width, entries) for width in _WIDTHS]
            head_sizes = take("<u4", heads)
        except ValueError as error:
            raise CorruptEntry(f"{size} bytes of envelopes end too soon: {error}") from error
        found.how, found.compression, found.rows, found.checksums, sizes = columns
        found.parts, found.heads = cut(sizes), cut(head_sizes)
        return found


class EntryMaker:
    """Makes the entries of a row group again."""

    def __init__(self, envelopes: Envelopes, values: Values) -> None:
        self._envelopes = envelopes
        self._values = values
        # So many rows, and heads, are before each entry.
        self._rows = list(accumulate(envelopes.rows, initial=0))
        batches = zip(envelopes.how, envelopes.rows, strict=True)
        self._heads = list(
            accumulate(
                (rows if how == EntryRecipe.BATCH else 0 for how, rows in batches), initial=0
            )
        )

    def entries(self, first: int, count_max: int, bytes_max: int) -> tuple[list[bytes], list[int]]:
        """Entries from the one at index ``first`` on, and their checksums.

        At least one, at most ``count_max``, about ``bytes_max``. Payloads that were compressed are
        compressed again: their bytes may be others than before, and so may their checksums. Raises
        CorruptEntry when another first entry does not have its checksum.
        """
        data: list[bytes] = []
        checksums: list[int] = []
        said, size = self._envelopes, 0
        for index in range(first, min(first + count_max, len(said))):
            made = self._make(index)
            checksum = inner.checksum(made)
            if checksum != said.checksums[index] and not said.compression[index]:
                if data:
                    break
                raise CorruptEntry(f"entry {index} of the row group is not what was written")
            data.append(made)
            checksums.append(checksum)
            size += len(made)
            if size >= bytes_max:
                break
        return data, checksums

    def verify(self, checksums: Sequence[int]) -> None:
        """Make every entry. Raises CorruptEntry unless they have these checksums, in order.

        Of one that is compressed again that is the checksum which was written with it.
        """
        made = len(self.entries(0, len(self._envelopes), sys.maxsize)[0]) if checksums else 0
        if made < len(checksums) or self._envelopes.checksums != list(checksums):
            raise CorruptEntry(f"{made} of {len(checksums)} entries are what was written")

    def _make(self, index: int) -> bytes:
        how, part = self._envelopes.how[index], self._envelopes.parts[index]
        if how == EntryRecipe.WHOLE:
            return part
        row, head = self._rows[index], self._heads[index]
        if how == EntryRecipe.ONE:
            payload = self._values[row]
        else:
            pieces = []
            for at in range(self._envelopes.rows[index]):
                its = self._envelopes.heads[head + at]
                pieces += [len(its).to_bytes(4), its, self._values[row + at]]
            payload = b"".join(pieces)
        kind = CompressionType(self._envelopes.compression[index])
        return entry_bytes.join(part, compress(kind, payload))
