"""The entries of one ledger, as bookies store them: a head, a digest and the payload. Pure.

Figures: BookKeeper's DigestManager.
"""

import struct
from collections.abc import Sequence
from itertools import count, repeat
from typing import Final, NamedTuple

from magnetar.errors import CorruptEntry

from .digest import SIZES, digest_of, master_key
from .ledger_metadata import DigestType
from .wire import ADD, LAST_ENTRY, Flag

_HEAD: Final = struct.Struct(">qqqq")  # ledger, entry, last confirmed, bytes up to the entry


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

    def adds(
        self,
        first: int,
        last_confirmed: int,
        length: int,
        data: list[bytes],
        *,
        flags: Flag = Flag.NONE,
        heads: Sequence[bytes] = (),
    ) -> list[bytes]:
        """The frames of adds, two pieces for each entry: all that comes before its data, and those.

        ``length`` is that of the ledger before the first of them. A payload is data with what
        ``heads`` has for them, if it has anything.
        """
        word_and_key = (ADD | flags).to_bytes(4, "big") + self.key
        pieces: list[bytes] = []
        for entry_id, each, before in zip(count(first), data, heads or repeat(b""), strict=False):
            length += len(before) + len(each)
            head = _HEAD.pack(self._ledger_id, entry_id, last_confirmed, length)
            checked = word_and_key + head + self._digest(head + before, each) + before
            pieces += ((len(checked) + len(each)).to_bytes(4, "big") + checked, each)
        return pieces

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
