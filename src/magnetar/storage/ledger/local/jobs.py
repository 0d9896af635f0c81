"""The four things that are written to the log, and what each notes once it is on disk.

Belongs to the event loop. The journal calls ``landed`` or ``failed``, for a job's books, and then
``answer`` in any case.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import field
from typing import Final, Protocol

from magnetar.errors import WriteFailed
from magnetar.inner import encode_block
from magnetar.inner.record import ENTRIES_MAX, HEAD_SIZE, TABLES_SIZE
from magnetar.late_dataclass import dataclass
from magnetar.storage.ledger.store import Answered

from .format import Head, Kind, Stamp, encode_mark, move
from .index import Ledger
from .segment_format import Group
from .segments import Segment, Segments

Receipt = asyncio.Future[None]

NO_LEDGER: Final = 0
"""Ids of ledgers begin with 1."""
BLOCK_SIZE_MAX: Final = 4 * 1024 * 1024
"""Bytes of a block; a longer run becomes several, a larger entry has one of its own."""


class Block:
    """Entries appended to a ledger."""

    __slots__ = (
        "_body_size",
        "_checksums",
        "_data",
        "_first",
        "_ledger",
        "answered",
        "size",
    )

    def __init__(
        self,
        ledger: Ledger,
        first: int,
        data: list[bytes],
        checksums: list[int],
        answered: Answered | None,
    ) -> None:
        assert data, "a block has at least one entry"
        self._ledger = ledger
        self._first = first
        self._data = data
        self._checksums = checksums
        self.answered = answered
        self._body_size = size = sum(map(len, data))
        self.size = HEAD_SIZE + TABLES_SIZE * len(data) + size

    @property
    def entries(self) -> int:
        """How many entries it holds."""
        return len(self._data)

    @property
    def fits(self) -> bool:
        """Whether it may be written as it is."""
        count = len(self._data)
        return count == 1 or (count <= ENTRIES_MAX and self.size <= BLOCK_SIZE_MAX)

    def parts(self) -> "list[Block]":
        """Split into blocks that fit; the last one answers for all."""
        parts = self._halves()
        answered, first = self.answered, self._first
        if answered is not None:
            parts[-1].answered = lambda _, error: answered(-1 if error else first, error)
        return parts

    def _halves(self) -> "list[Block]":
        if self.fits:
            return [self]
        half = len(self._data) // 2
        data, checksums, ledger = self._data, self._checksums, self._ledger
        early = Block(ledger, self._first, data[:half], checksums[:half], None)
        late = Block(ledger, self._first + half, data[half:], checksums[half:], None)
        return [*early._halves(), *late._halves()]

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        ledger_id, first = self._ledger.ledger_id, self._first
        return encode_block(
            stamp.salt, stamp.seed, synced, ledger_id, first, self._data, self._checksums
        )

    def landed(self, segment: Segment, offset: int) -> None:
        ledger = self._ledger
        ledger.add(self._first, len(self._data), segment.base + offset, self._body_size)
        segment.hold(ledger.ledger_id, self.size)

    def will_fail(self) -> None:
        self._ledger.fence("a write to it failed")

    def failed(self) -> None:
        self.will_fail()
        self._ledger.fail()

    def answer(self, error: WriteFailed | None) -> None:
        if self.answered is not None:
            self.answered(self._first if error is None else -1, error)


def _receipt() -> Receipt:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, eq=False)
class _WithReceipt:
    """A job whose caller may wait for its receipt."""

    receipt: Receipt = field(default_factory=_receipt, init=False)

    @property
    def size(self) -> int:
        return HEAD_SIZE

    def will_fail(self) -> None:
        """What follows does not depend on it."""

    def failed(self) -> None:
        """A failed record changes nothing."""

    def answer(self, error: WriteFailed | None) -> None:
        receipt = self.receipt
        if receipt.done():  # The caller was cancelled.
            return
        if error is None:
            receipt.set_result(None)
        else:
            receipt.set_exception(error)
            receipt.exception()  # The caller need not wait for it.


@dataclass(slots=True, eq=False)
class LedgerMark(_WithReceipt):
    """A ledger was created, or ended: the newer of the two says that it exists."""

    kind: Kind
    ledger: Ledger
    segments: Segments

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        ledger = self.ledger
        entries = ledger.next_entry_id if self.kind is Kind.ENDED else 0
        return (encode_mark(self.kind, stamp, synced, ledger.ledger_id, entries),)

    def landed(self, segment: Segment, offset: int) -> None:
        ledger = self.ledger
        segment.hold(ledger.ledger_id, 0)
        notes = segment.notes
        (notes.ended if self.kind is Kind.ENDED else notes.created).add(ledger.ledger_id)
        if ledger.deleted:
            self.segments.landed_after_delete(ledger.ledger_id, segment)
        else:
            ledger.mark(segment)


class ForgetLedger(Protocol):
    """Forgets what a deleted ledger held; ``durable`` says that a restart will know of it."""

    def __call__(self, *, durable: bool) -> None: ...


@dataclass(slots=True, eq=False)
class Deletion(_WithReceipt):
    """A ledger is deleted, with everything it held."""

    ledger_id: int
    forget: ForgetLedger

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        return (encode_mark(Kind.DELETED, stamp, synced, self.ledger_id),)

    def landed(self, segment: Segment, offset: int) -> None:
        segment.notes.deletions.append(self.ledger_id)
        self.forget(durable=True)

    def failed(self) -> None:
        # Deleting must make space on a full disk, too: what the ledger held can go all the same.
        self.forget(durable=False)


@dataclass(slots=True, eq=False)
class DiskCheck(_WithReceipt):
    """Nothing, which is written all the same: the deletion of a ledger that there never was."""

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        return (encode_mark(Kind.DELETED, stamp, synced, NO_LEDGER),)

    def landed(self, segment: Segment, offset: int) -> None:
        """There is nothing to note."""


@dataclass(slots=True, eq=False, kw_only=True)
class BlockMove(_WithReceipt):
    """A block leaves a segment that is mostly dead."""

    ledger: Ledger
    head: Head
    record: bytes
    source: Segment
    segments: Segments

    @property
    def size(self) -> int:
        return self.head.size

    def encode(self, stamp: Stamp, synced: int) -> Iterable[bytes]:
        return move(self.record, self.head, stamp, synced)

    def landed(self, segment: Segment, offset: int) -> None:
        ledger = self.ledger
        ledger_id = ledger.ledger_id
        if ledger.deleted:
            segment.hold(ledger_id, 0)
            self.segments.landed_after_delete(ledger_id, segment)
            return
        place = segment.base + offset
        ledger.move(self.head.first, place)
        head = self.head
        behind = head.first + head.entries
        block = (ledger_id, [head.first], [place], behind, head.body_size, head.size)
        segment.notes.groups.setdefault(ledger_id, Group(ledger_id)).add(block)
        segment.hold(ledger_id, self.size)
        self.source.release(ledger_id, self.size)
