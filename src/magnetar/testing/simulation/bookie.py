"""A model of a bookie: BookKeeper's protocol, version 2, over a journal that is lost, and fails.

What was not synced when it dies is lost, or its beginning is not. It answers an add when it is
synced. It never looks at digests, as bookies do not: an entry that was torn when power was lost is
read as it is, since the records of a journal say how long they are, and nothing else.

Where the disk has no room for an entry the bookie takes no more: it is read-only until a look at
its disk, which it has now and then, finds room again. Fences, and what recoveries write, may use a
reserve, as with BookKeeper's ``minUsableSizeForHighPriorityWrites``.
"""

import asyncio
import struct
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple, cast

from magnetar.storage.ledger.bookkeeper.wire import LAST_ENTRY, Code, Flag

KEY_SIZE: Final = 20
FRAME_MAX: Final = 5_253_120
_VERSION: Final = 2
_ADD, _READ, _BATCH_READ = 1, 2, 7
_ANSWER: Final = struct.Struct(">IIiqq")
_IDS: Final = struct.Struct(">qq")
_BATCH: Final = struct.Struct(">qqqiq")
_BATCH_ANSWER: Final = struct.Struct(">IIiqqq")
_BATCH_BESIDE: Final = 36  # Bytes that count before the entries of a batch.

RESERVE: Final = 10_000
"""Bytes of a disk that recoveries may use when it is full to all others."""
LOOKS_S: Final = 10.0
"""A bookie whose disk is full looks so often whether it is (diskCheckInterval)."""
AT_ONCE_S: Final = (0.0002, 0.003)
"""So long a sync takes, where a disk is not slow."""


@dataclass
class StoredLedger:
    """What a bookie has of a ledger."""

    key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = field(default_factory=dict)
    torn: set[int] = field(default_factory=set)  # Those of which the end is missing.


class _Note(NamedTuple):
    """A note in the journal: an entry, or that a ledger is fenced."""

    ledger_id: int
    key: bytes
    entry_id: int
    stored: bytes | None  # None: it is fenced.
    answer: Callable[[], None]
    torn: bool = False


class Disk:
    """What a bookie keeps: it outlives its process."""

    def __init__(self, random: Random) -> None:
        self.sync_s = AT_ONCE_S
        self.read_s: tuple[float, float] | None = None  # None: reads take no time.
        self.fails = False  # Every sync fails, as of a disk that is broken.
        self.room: int | None = None  # Bytes that are left for entries; None: enough.
        self.fuse: int | None = None  # Power is lost in the middle of so many syncs from now.
        self.blown: Callable[[], None] = lambda: None  # Called then.
        self.tears = False  # The first entry that is lost is there in part.
        self.flips = 0.0  # How often what is read has a wrong byte.
        self.random = random
        self.added_at = 0.0  # When an entry came last.
        self.synced: dict[int, StoredLedger] = {}
        self.waiting: list[_Note] = []  # For the sync that follows the one under way.
        self.syncing: list[_Note] = []

    def after_crash(self) -> dict[int, StoredLedger]:
        """What is found by who begins again: some of what was being synced may be there."""
        found = self.syncing + self.waiting
        whole = self.random.randint(0, len(found) - (self.tears and bool(found)))
        for note in found[:whole]:
            apply(self.synced, note)
        if self.tears:
            self._tear(found[whole:])
        self.syncing, self.waiting, self.tears = [], [], False
        return deepcopy(self.synced)

    def _tear(self, lost: list[_Note]) -> None:
        """Let the end of the first entry be zeros; those behind it may be whole."""
        while lost and lost[0].stored is None:
            lost = lost[1:]
        if not lost:
            return
        stored = lost[0].stored
        assert stored is not None
        at = self.random.randrange(_IDS.size, len(stored))
        apply(
            self.synced, lost[0]._replace(stored=stored[:at] + bytes(len(stored) - at), torn=True)
        )
        for note in lost[1 : self.random.randint(1, len(lost))]:
            apply(self.synced, note)

    def takes(self, size: int, *, urgent: bool) -> bool:
        """Use room for an entry, if there is so much."""
        if self.room is None:
            return True
        if size > self.room + (RESERVE if urgent else 0):
            return False
        self.room -= size
        return True

    def mend(self) -> None:
        """Let nothing go wrong any more."""
        self.fails, self.flips, self.tears = False, 0.0, False
        self.sync_s, self.read_s, self.room, self.fuse = AT_ONCE_S, None, None, None

    @property
    def is_full(self) -> bool:
        return self.room is not None and self.room <= 0


def apply(ledgers: dict[int, StoredLedger], note: _Note) -> None:
    """Do what a note says."""
    ledger = ledgers.setdefault(note.ledger_id, StoredLedger(note.key))
    if note.stored is None:
        ledger.fenced = True
    else:
        ledger.entries[note.entry_id] = note.stored
        (ledger.torn.add if note.torn else ledger.torn.discard)(note.entry_id)


class Bookie:
    """The process of a bookie."""

    def __init__(self, disk: Disk) -> None:
        self.read_only = False
        self.mute = False  # It answers nothing.
        self.presence_changed: Callable[[], None] = lambda: None
        """To be called when ``read_only`` changed."""
        self._disk = disk
        self._ledgers = disk.after_crash()
        self._loop = asyncio.get_running_loop()
        self._syncing = False
        if disk.is_full:
            self._take_no_more()

    async def serve(self, host: str, port: int) -> asyncio.AbstractServer:
        """Listen, in the process that calls."""
        return await self._loop.create_server(lambda: _Client(self), host, port)

    def add(
        self, key: bytes, stored: bytes, flags: int, answer: Callable[[int, int, int], None]
    ) -> None:
        """Store an entry; ``answer`` is told a code, and which entry it is."""
        self._disk.added_at = self._loop.time()
        ledger_id, entry_id = _IDS.unpack_from(stored)
        ledger = self._ledgers.get(ledger_id)
        if self.read_only and not flags & Flag.HIGH_PRIORITY:
            answer(Code.READ_ONLY, ledger_id, entry_id)
        elif ledger is not None and ledger.key != key:
            answer(Code.UNAUTHORIZED, ledger_id, entry_id)
        elif ledger is not None and ledger.fenced and not flags & Flag.RECOVERY_ADD:
            answer(Code.FENCED, ledger_id, entry_id)
        elif not self._disk.takes(len(stored), urgent=bool(flags & Flag.HIGH_PRIORITY)):
            answer(Code.IO_ERROR, ledger_id, entry_id)
            if not self.read_only:
                self._take_no_more()
        else:

            def synced() -> None:
                answer(Code.IO_ERROR if self._disk.fails else Code.OK, ledger_id, entry_id)

            self._note(_Note(ledger_id, key, entry_id, stored, synced))

    def read(
        self,
        key: bytes | None,
        ledger_id: int,
        entry_id: int,
        answer: Callable[[int, bytes], None],
    ) -> None:
        """Read an entry, and fence its ledger before where a key is given."""
        if key is None:
            answer(*self._found(ledger_id, entry_id))
            return
        ledger = self._ledgers.get(ledger_id)
        if ledger is not None and ledger.key != key:
            answer(Code.UNAUTHORIZED, b"")
            return
        # Also where it is fenced: the note that says so may not be synced yet.
        self._note(
            _Note(ledger_id, key, -1, None, lambda: self._fenced(ledger_id, entry_id, answer))
        )

    def _fenced(self, ledger_id: int, entry_id: int, answer: Callable[[int, bytes], None]) -> None:
        if self._disk.fails:
            answer(Code.IO_ERROR, b"")
        else:
            answer(*self._found(ledger_id, entry_id))

    def read_batch(
        self, ledger_id: int, first: int, count_max: int, bytes_max: int
    ) -> tuple[int, list[bytes]]:
        """Read consecutive entries: at least one, if it is there."""
        code, stored = self._found(ledger_id, first)
        found = [stored]
        size = _BATCH_BESIDE + 4 + len(stored)
        while code == Code.OK and (count_max <= 0 or len(found) < count_max):
            more, stored = self._found(ledger_id, first + len(found))
            size += 4 + len(stored)
            if more != Code.OK or size > bytes_max:
                break
            found.append(stored)
        return code, found if code == Code.OK else []

    def _found(self, ledger_id: int, entry_id: int) -> tuple[int, bytes]:
        ledger = self._ledgers.get(ledger_id)
        if ledger is None:
            return Code.NO_LEDGER, b""
        if entry_id == LAST_ENTRY:
            entry_id = max(ledger.entries, default=-1)
        stored = ledger.entries.get(entry_id)
        if stored is None:
            return Code.NO_ENTRY, b""
        if self._disk.flips and self._disk.random.random() < self._disk.flips:
            at = self._disk.random.randrange(len(stored))
            stored = stored[:at] + bytes([stored[at] ^ 1]) + stored[at + 1 :]
        return Code.OK, stored

    def _take_no_more(self) -> None:
        self.read_only = True
        self.presence_changed()
        self._loop.call_later(LOOKS_S, self._look)

    def _look(self) -> None:
        if not self.read_only:
            return
        if self._disk.room is not None:
            self._loop.call_later(LOOKS_S, self._look)
            return
        self.read_only = False
        self.presence_changed()

    def after_read(self, answer: Callable[[], None]) -> None:
        """Call ``answer`` when the disk has read what it says."""
        if self._disk.read_s is None:
            answer()
        else:
            self._loop.call_later(self._disk.random.uniform(*self._disk.read_s), answer)

    def _note(self, note: _Note) -> None:
        apply(self._ledgers, note)
        self._disk.waiting.append(note)
        if not self._syncing:
            self._begin_sync()

    def _begin_sync(self) -> None:
        disk = self._disk
        self._syncing = True
        disk.syncing, disk.waiting = disk.waiting, []
        sync_s = disk.random.uniform(*disk.sync_s)
        self._loop.call_later(sync_s, self._synced)
        if disk.fuse is not None:
            disk.fuse -= 1
            if disk.fuse < 0:
                disk.fuse, disk.tears = None, True
                self._loop.call_later(sync_s / 2, disk.blown)

    def _synced(self) -> None:
        disk = self._disk
        done, disk.syncing = disk.syncing, []
        for note in done:
            if not disk.fails:
                apply(disk.synced, note)
            note.answer()
        self._syncing = False
        if disk.waiting:
            self._begin_sync()


class _Client(asyncio.Protocol):
    """A connection of somebody who asks."""

    def __init__(self, bookie: Bookie) -> None:
        self._bookie = bookie
        self._arrived = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None

    def data_received(self, data: bytes) -> None:
        arrived, at = self._arrived + data, 0
        while len(arrived) - at >= 4 and self._transport is not None:
            end = at + 4 + int.from_bytes(arrived[at : at + 4])
            if end - at > FRAME_MAX:
                self._transport.abort()
                return
            if len(arrived) < end:
                break
            self._take(arrived[at + 4 : end])
            at = end
        self._arrived = arrived[at:]

    def _take(self, frame: bytes) -> None:
        assert self._transport is not None
        version, opcode, flags = frame[0], frame[1], int.from_bytes(frame[2:4])
        body = frame[4:]
        if version != _VERSION:
            self._transport.abort()
        elif opcode == _ADD:
            self._bookie.add(body[:KEY_SIZE], body[KEY_SIZE:], flags, self._added)
        elif opcode == _READ:
            ledger_id, entry_id = _IDS.unpack_from(body)
            key = body[_IDS.size :] if flags & Flag.FENCE else None

            def read(code: int, stored: bytes) -> None:
                self._send(
                    _ANSWER.pack(
                        _ANSWER.size - 4 + len(stored), _word(_READ), code, ledger_id, entry_id
                    )
                    + stored
                )

            self._bookie.after_read(lambda: self._bookie.read(key, ledger_id, entry_id, read))
        elif opcode == _BATCH_READ:
            asked = _BATCH.unpack_from(body)
            self._bookie.after_read(lambda: self._send_batch(*asked))
        else:
            self._transport.abort()

    def _send_batch(
        self, ledger_id: int, first: int, request_id: int, count_max: int, bytes_max: int
    ) -> None:
        code, found = self._bookie.read_batch(ledger_id, first, count_max, bytes_max)
        data = b"".join(len(each).to_bytes(4) + each for each in found)
        head = _BATCH_ANSWER.pack(
            _BATCH_ANSWER.size - 4 + len(data),
            _word(_BATCH_READ),
            *(code, ledger_id, first, request_id),
        )
        self._send(head + data)

    def _added(self, code: int, ledger_id: int, entry_id: int) -> None:
        self._send(_ANSWER.pack(_ANSWER.size - 4, _word(_ADD), code, ledger_id, entry_id))

    def _send(self, frame: bytes) -> None:
        if self._transport is not None and not self._bookie.mute:
            self._transport.write(frame)


def _word(opcode: int) -> int:
    return _VERSION << 24 | opcode << 16
