"""A model of a bookie: BookKeeper's protocol, version 2, over a journal that is lost, and fails.

What was not synced when it dies is lost, or its beginning is not. It answers an add when it is
synced. It never looks at digests, as bookies do not.
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


@dataclass
class StoredLedger:
    """What a bookie has of a ledger."""

    key: bytes
    fenced: bool = False
    entries: dict[int, bytes] = field(default_factory=dict)


class _Note(NamedTuple):
    """A note in the journal: an entry, or that a ledger is fenced."""

    ledger_id: int
    key: bytes
    entry_id: int
    stored: bytes | None  # None: it is fenced.
    answer: Callable[[], None]


class Disk:
    """What a bookie keeps: it outlives its process."""

    def __init__(self, random: Random) -> None:
        self.sync_s = (0.0002, 0.003)
        self.fails = False  # Every sync fails, as of a disk that is full or broken.
        self.flips = 0.0  # How often what is read has a wrong byte.
        self.random = random
        self.added_at = 0.0  # When an entry came last.
        self.synced: dict[int, StoredLedger] = {}
        self.waiting: list[_Note] = []  # For the sync that follows the one under way.
        self.syncing: list[_Note] = []

    def after_crash(self) -> dict[int, StoredLedger]:
        """What is found by who begins again: some of what was being synced may be there."""
        found = self.syncing + self.waiting
        for note in found[: self.random.randint(0, len(found))]:
            apply(self.synced, note)
        self.syncing, self.waiting = [], []
        return deepcopy(self.synced)


def apply(ledgers: dict[int, StoredLedger], note: _Note) -> None:
    """Do what a note says."""
    ledger = ledgers.setdefault(note.ledger_id, StoredLedger(note.key))
    if note.stored is None:
        ledger.fenced = True
    else:
        ledger.entries[note.entry_id] = note.stored


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

    def _note(self, note: _Note) -> None:
        apply(self._ledgers, note)
        self._disk.waiting.append(note)
        if not self._syncing:
            self._begin_sync()

    def _begin_sync(self) -> None:
        disk = self._disk
        self._syncing = True
        disk.syncing, disk.waiting = disk.waiting, []
        self._loop.call_later(disk.random.uniform(*disk.sync_s), self._synced)

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

            self._bookie.read(key, ledger_id, entry_id, read)
        elif opcode == _BATCH_READ:
            ledger_id, first, request_id, count_max, bytes_max = _BATCH.unpack_from(body)
            code, found = self._bookie.read_batch(ledger_id, first, count_max, bytes_max)
            data = b"".join(len(each).to_bytes(4) + each for each in found)
            head = _BATCH_ANSWER.pack(
                _BATCH_ANSWER.size - 4 + len(data),
                _word(_BATCH_READ),
                *(code, ledger_id, first, request_id),
            )
            self._send(head + data)
        else:
            self._transport.abort()

    def _added(self, code: int, ledger_id: int, entry_id: int) -> None:
        self._send(_ANSWER.pack(_ANSWER.size - 4, _word(_ADD), code, ledger_id, entry_id))

    def _send(self, frame: bytes) -> None:
        if self._transport is not None and not self._bookie.mute:
            self._transport.write(frame)


def _word(opcode: int) -> int:
    return _VERSION << 24 | opcode << 16
