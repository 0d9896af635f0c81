"""The contract of a ledger store: append-only ledgers, one writer each.

An entry is bytes with the CRC32-C of those bytes. The checksum is made by whoever had the bytes
first (a producer, over the wire), travels with the entry, is kept beside it, and is verified when
entries come back from disk. Entry ids are 0-based and without gaps. Everything moves in lists.
"""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final, NamedTuple, NewType, Protocol

from magnetar.errors import InvalidValue, LedgerFenced, StorageError
from magnetar.late_dataclass import dataclass

LedgerId = NewType("LedgerId", int)

Answered = Callable[[int, StorageError | None], None]
"""Is told the id of the first entry when all are durable, or -1 and why they may not be."""


@dataclass(frozen=True, slots=True)
class LedgerOptions:
    """How many copies of a ledger are written, and what is kept with it.

    0 leaves a number to the store. Raises InvalidValue for numbers that no store can satisfy.
    """

    ensemble_size: int = 0  # How many nodes its entries are spread over.
    write_quorum: int = 0  # How many of them get each entry.
    ack_quorum: int = 0  # How many must have an entry before it is answered.
    metadata: Mapping[str, bytes] = field(default_factory=dict)  # BookKeeper's custom metadata.

    def __post_init__(self) -> None:
        if not self.ensemble_size >= self.write_quorum >= self.ack_quorum >= 0:
            raise InvalidValue(
                f"A ledger of ensemble size {self.ensemble_size} cannot have write quorum "
                f"{self.write_quorum} and ack quorum {self.ack_quorum}: none may exceed the one "
                "before it"
            )


AS_THE_STORE_IS_SET: Final = LedgerOptions()


def made_for(component: str, whose: Mapping[str, str]) -> dict[str, bytes]:
    """Return what Pulsar keeps with a ledger, so that its tools tell what it is for, and whose."""
    told = {"application": "pulsar", "component": component, **whose}
    return {key: text.encode() for key, text in told.items()}


class LedgerEnd(NamedTuple):
    """Where a ledger ends: the last entry's id (-1 when empty) and the entries' bytes."""

    last_entry_id: int
    size_bytes: int


class LedgerEntries(NamedTuple):
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

    async def read(self, first: int, count_max: int, bytes_max: int) -> LedgerEntries:
        """Entries from ``first`` on: at least one, at most ``count_max``, about ``bytes_max``.

        Raises EntryNotFound when ``first`` is beyond the end, CorruptEntry when stored bytes fail
        their checksum.
        """


class LedgerWriter(LedgerReader, Protocol):
    """Appends to one ledger, and reads what it appended."""

    @property
    def over_limit(self) -> bool:
        """So much is under way in the store that the caller must ``wait_for_capacity`` first."""

    async def wait_for_capacity(self) -> None:
        """Return when the caller may append once, at once; callers are admitted in order."""

    def append(self, data: list[bytes], checksums: list[int], answered: Answered) -> None:
        """Append. ``answered`` is called exactly once, and never before this returns.

        The answer comes when all entries are as durable as the store is set to make them, in the
        order of the calls. It is WriteFailed when the disk refused (then none of the entries
        counts, and the ledger is fenced) and LedgerFenced from then on, or after ``open``
        elsewhere. The lists are kept: they must not be changed after.
        """

    async def close(self) -> LedgerEnd:
        """Take no more entries and wait for appends under way. May be called again."""


class LedgerStore(Protocol):
    """Creates, opens and deletes ledgers."""

    async def create(self, options: LedgerOptions = AS_THE_STORE_IS_SET) -> LedgerWriter:
        """A new, empty ledger with an id never used before, greater than all before it.

        A store without replicas writes its one copy whatever ``options`` ask for, since a topic
        must be usable there with the policies that it has elsewhere, and may keep none of them.
        """

    async def open(self, ledger_id: LedgerId) -> LedgerReader:
        """Open for reading after fencing its writer: the end no longer moves.

        Raises LedgerNotFound.
        """

    async def delete(self, ledger_id: LedgerId) -> None:
        """Remove a ledger and give back its disk space. An unknown ledger is no error."""

    async def check(self) -> None:
        """Return where a new ledger would take entries. Raises StorageError."""

    async def close(self) -> None:
        """Finish what is under way and let go of files. Appends after this raise LedgerFenced."""


def fenced(ledger_id: int, because: str) -> LedgerFenced:
    """The error that answers an append to a ledger that takes no more."""
    return LedgerFenced(f"ledger {ledger_id} takes no more entries: {because}")
