"""The entries of one ledger, as bookies store them: a head, a digest and the payload. Pure.

Figures: BookKeeper's DigestManager.
"""

import struct
from functools import partial
from typing import Final, NamedTuple

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.inner.plain.adds import ADD, frames_with
from magnetar.storage.codec.pulsar.message_head import HEAD_SIZE, message_of
from magnetar.storage.ledger.store import LedgerEntries

from .digest import SIZES, digest_of, master_key
from .ledger_metadata import DigestType
from .wire import LAST_ENTRY, Flag

TOGETHER_MAX: Final = 1_000
"""Entries whose adds are one piece of work for a bookie, which takes it whole."""

_HEAD: Final = struct.Struct(">qqqq")  # ledger, entry, last confirmed, bytes up to the entry


class Adds(NamedTuple):
    """The frames that add some consecutive entries, as pieces one behind the other."""

    entries: int
    pieces: list[bytes]


class StoredEntry(NamedTuple):
    """An entry as a bookie had it, its digest checked."""

    entry_id: int
    last_confirmed: int  # When it was written.
    length: int  # Bytes of the ledger up to and with it.
    payload: bytes


class EntryFormat:
    """How the entries of one ledger are written and checked."""

    def __init__(self, ledger_id: int, digest_type: DigestType, password: bytes) -> None:
        self.key = master_key(password)
        self.beside = _HEAD.size + SIZES[digest_type]
        """Bytes of an entry beside its payload."""
        self._ledger_id = ledger_id
        self._digest = digest_of(digest_type, password)
        self._usual = digest_type is DigestType.CRC32C
        self._frames = inner.add_frames if self._usual else partial(frames_with, self._digest)

    def adds(
        self,
        first: int,
        last_confirmed: int,
        length: int,
        data: list[bytes],
        checksums: list[int] | None = None,
        *,
        flags: Flag = Flag.NONE,
        together: int = TOGETHER_MAX,
    ) -> list[Adds]:
        """The adds of consecutive entries, so many together.

        ``length`` is that of the ledger before the first of them. With ``checksums`` they are
        messages, and a payload is one's head and its data.
        """
        before = (ADD | flags).to_bytes(4, "big") + self.key
        head_size = 0 if checksums is None else HEAD_SIZE
        adds = []
        for at in range(0, len(data), together):
            some = data[at : at + together]
            sums = None if checksums is None else checksums[at : at + together]
            pieces = self._frames(
                before, self._ledger_id, first + at, last_confirmed, length, some, sums
            )
            adds.append(Adds(len(some), pieces))
            length += sum(map(len, some)) + head_size * len(some)
        return adds

    def open(self, stored: list[bytes], first: int, *, messages: bool) -> LedgerEntries:
        """What consecutive stored entries hold, from ``first`` on. Raises CorruptEntry."""
        data: list[bytes] = []
        checksums: list[int] = []
        while len(data) < len(stored):
            at = len(data)
            if self._usual:
                some, sums = inner.open_stored(stored, at, self._ledger_id, first + at, messages)
                data += some
                checksums += sums
                at = len(data)
            if at < len(stored):
                payload = self.check(stored[at], first + at).payload
                data.append(message_of(payload) if messages else payload)
                checksums.append(inner.checksum(data[-1]))
        return LedgerEntries(data, checksums)

    def check(self, stored: bytes, entry_id: int) -> StoredEntry:
        """Take a stored entry apart. ``LAST_ENTRY`` stands for any. Raises CorruptEntry."""
        ledger_id = self._ledger_id
        if len(stored) < self.beside:
            raise CorruptEntry(
                f"entry {entry_id} of ledger {ledger_id} has {len(stored)} bytes at a bookie: "
                "too few"
            )
        head, payload = stored[: _HEAD.size], stored[self.beside :]
        found_ledger, found_entry, last_confirmed, length = _HEAD.unpack(head)
        if self._digest(head, payload) != stored[_HEAD.size : self.beside]:
            raise CorruptEntry(
                f"entry {entry_id} of ledger {ledger_id} fails its digest at a bookie"
            )
        if found_ledger != ledger_id or entry_id not in {LAST_ENTRY, found_entry}:
            raise CorruptEntry(
                f"a bookie answered entry {found_entry} of ledger {found_ledger} where entry "
                f"{entry_id} of ledger {ledger_id} was asked for"
            )
        return StoredEntry(found_entry, last_confirmed, length, payload)
