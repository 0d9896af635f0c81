"""Reads the file of a ledger: the entries as they were in the log, and the rows of messages."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from magnetar.errors import CorruptEntry, EntryNotFound

from .envelopes import EntryMaker, Envelopes, Values
from .footer import Footer
from .message_rows import SCHEMA


class LedgerFile:
    """The file of a ledger."""

    def __init__(self, file: pa.NativeFile, name: str) -> None:
        """``file`` is closed with this one. ``name`` is for errors.

        Raises CorruptEntry for a file that is none of ours, or is damaged.
        """
        self.name = name
        self._file = file
        try:
            self._parquet = pq.ParquetFile(file, page_checksum_verification=True)
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptEntry(f"{name} is no Parquet file, or is damaged: {error}") from error
        self.footer = Footer.decode(self._parquet.metadata.metadata, name)
        # Where there are no rows there is no row group of Parquet's.
        has_rows = [group.rows > 0 for group in self.footer.groups]
        self._numbers = list(accumulate(has_rows, initial=0))
        self._group: tuple[int, EntryMaker] | None = None  # The one that was read last.

    def entries(self, first: int, count_max: int, bytes_max: int) -> tuple[list[bytes], list[int]]:
        """Entries from ``first`` on, and their checksums, in lists of the same length.

        At least one, at most ``count_max``, about ``bytes_max``; less where a row group ends.
        Raises EntryNotFound, and CorruptEntry when what is stored is damaged.
        """
        if not 0 <= first < self.footer.entries:
            raise EntryNotFound(f"{self.name} has {self.footer.entries} entries, and none {first}")
        index = self.footer.group_of(first)
        if self._group is None or self._group[0] != index:
            self._group = None  # The memory is needed for the next one.
            self._group = (index, self._maker(index))
        return self._group[1].entries(
            first - self.footer.groups[index].first_entry_id, count_max, bytes_max
        )

    def verify(self, checksums: Sequence[int]) -> None:
        """Read everything. Raises CorruptEntry unless these are the entries that were written."""
        if len(checksums) != self.footer.entries:
            raise CorruptEntry(f"{self.name} has {self.footer.entries} of {len(checksums)} entries")
        for index, group in enumerate(self.footer.groups):
            maker, stop = self._maker(index), group.first_entry_id + group.entries
            maker.verify(checksums[group.first_entry_id : stop])

    def rows(self, group: int, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of a row group. Raises CorruptEntry."""
        if not self.footer.groups[group].rows:
            return SCHEMA.empty_table().select(columns or SCHEMA.names)
        number = self._numbers[group]
        try:
            return self._parquet.read_row_group(number, columns=columns and list(columns))
        except (pa.ArrowInvalid, OSError) as error:
            raise CorruptEntry(f"row group {group} of {self.name} is damaged: {error}") from error

    def _maker(self, index: int) -> EntryMaker:
        group = self.footer.groups[index]
        self._file.seek(group.offset)
        envelopes = Envelopes.decode(self._file.read(group.size))
        if len(envelopes) != group.entries or sum(envelopes.rows) != group.rows:
            raise CorruptEntry(f"row group {index} of {self.name} has other entries than it says")
        return EntryMaker(envelopes, _values(self.rows(index, ["value"])))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._parquet.close()
        self._file.close()


def _values(rows: pa.Table) -> Values:
    column = rows.column("value").combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # In some versions also when it is one piece.
        column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    _, places, data = column.buffers()
    return Values(
        memoryview(places).cast("i")[column.offset :] if places else [0],
        memoryview(data) if data else memoryview(b""),
    )
