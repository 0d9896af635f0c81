"""The contract of a ledger store: append-only ledgers, one writer each.

An entry is bytes with the CRC32-C of those bytes. The checksum is made by whoever had the bytes
first (a producer, over the wire), travels with the entry, is kept beside it, and is verified when
entries come back from disk. Entry ids are 0-based and without gaps. Everything moves in lists.
"""

from typing import NamedTuple, NewType, Protocol

LedgerId = NewType("LedgerId", int)


class LedgerEnd(NamedTuple):
    """Where a ledger ends: the last entry's id (-1 when empty) and the entries' bytes."""

    last_entry_id: int
    size_bytes: int


class Entries(NamedTuple):
    """Consecutive entries and their checksums, as parallel lists."""

    data: list[bytes]
    checksums: list[int]


class LedgerReader(Protocol):
    """Reads entries of one ledger."""

    @property
    def ledger_id(self) -> LedgerId: ...

    @property
    def end(self) -> LedgerEnd:
        """The last entry that may be read, and the bytes up to it."""

    async def read(self, first: int, count_max: int, bytes_max: int) -> Entries:
        """Entries from ``first`` on: at least one, at most ``count_max``, about ``bytes_max``.

        Raises EntryNotFound when ``first`` is beyond the end, CorruptEntry when stored bytes fail
        their checksum.
        """


class LedgerWriter(LedgerReader, Protocol):
    """Appends to one ledger, and reads what it appended."""

    async def append(self, data: list[bytes], checksums: list[int]) -> int:
        """Append; return the first entry's id once all are as durable as the store is set to be.

        Appends complete in the order of their calls. Raises WriteFailed when the disk refused
        (then none of this call's entries was answered, and the ledger is fenced) and LedgerFenced
        on every call after that, or after ``open`` elsewhere. Cancelling the await does not take
        the write back.
        """

    async def close(self) -> LedgerEnd:
        """Wait for appends under way; the ledger takes no more. May be called again."""


class LedgerStore(Protocol):
    """Create, open, delete."""

    async def create(self) -> LedgerWriter:
        """A new, empty ledger with an id never used before, greater than all before it."""

    async def open(self, ledger_id: LedgerId) -> LedgerReader:
        """Open for reading after fencing its writer: the end no longer moves.

        Raises LedgerNotFound.
        """

    async def delete(self, ledger_id: LedgerId) -> None:
        """Remove; the disk space comes back. An unknown ledger is fine."""

    async def close(self) -> None:
        """Finish what is under way and let go of files. Appends after this raise LedgerFenced."""
