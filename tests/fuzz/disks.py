"""Target: segment files. What comes back is what was written, or a StorageError; never too much.

Folders of real stores, stopped or crashed, with segments that are sealed, full, active, recycled
or spare. Bytes in them are changed; some headers, footers and records get their checksums made
right again, as no failing disk would: a length must not be believed because it is well guarded.
"""

import asyncio
import resource
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

from fuzz.mutate import NUMBERS, Mutator
from google_crc32c import value as crc32c
from unit.storage.ledger.local.support import append, run, snapshot

from magnetar.errors import StorageError
from magnetar.inner.record import HEAD_SIZE
from magnetar.storage.ledger.local.format import Stamp, head_at, stamped
from magnetar.storage.ledger.local.segment_format import TRAILER_SIZE, BadFormat, decode_header
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore

SETTINGS = LocalLedgerSettings(segment_size=16 * 1024, durability=Durability.NONE)
MEMORY_GROWTH_MAX = 256 * 1024 * 1024
SECONDS_MAX = 30.0  # Of one folder of some 200 KiB, on a busy machine.
READ_BYTES_MAX = 64 * 1024
TABLES_AT = 64  # In a header.


@dataclass(slots=True)
class Folder:
    """The files of a store, and what was answered to whoever appended."""

    files: dict[str, bytes]
    entries: dict[int, list[bytes]]


async def corpus(place: Path, chance: Random) -> list[Folder]:
    """A store at work, the same after a crash, and after a clean stop."""
    store = await LocalLedgerStore.start(place / "store", settings=SETTINGS)
    entries: dict[int, list[bytes]] = {}
    ledgers = [await store.create() for _ in range(4)]
    found = []
    for number in range(60):
        ledger = ledgers[number % len(ledgers)]
        count = chance.choice((1, 1, 3, 40))
        data = [chance.randbytes(chance.choice((0, 1, 30, 700))) for _ in range(count)]
        await append(ledger, *run(*data))
        entries.setdefault(int(ledger.ledger_id), []).extend(data)
        if number == 30:
            gone = ledgers.pop(0)
            await store.delete(gone.ledger_id)  # Its segments are compacted and used again.
            del entries[int(gone.ledger_id)]
        if number == 45:
            await ledgers[0].close()
            ledgers.pop(0)
        if number in (20, 40, 59):
            copy = snapshot(place / "store", place / f"crashed-{number}")
            found.append(Folder(_files(copy), {key: list(all_) for key, all_ in entries.items()}))
    await store.close()
    found.append(Folder(_files(place / "store"), entries))
    return found


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix == ".log"}


class Disks:
    """Changes folders and looks what a store makes of them."""

    def __init__(self, folders: list[Folder], place: Path, chance: Random) -> None:
        self.chance = chance
        self._folders = folders
        self._place = place
        pieces = [data for folder in folders for data in folder.files.values()]
        self._mutator = Mutator(chance, pieces)

    async def check(self) -> str:
        """One folder, changed; how it ended. Raises TimeoutError when it takes too long."""
        async with asyncio.timeout(SECONDS_MAX):
            return await self._check()

    async def _check(self) -> str:
        folder = self.chance.choice(self._folders)
        shutil.rmtree(self._place, ignore_errors=True)
        self._place.mkdir()
        honest = self._write(folder)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            store = await LocalLedgerStore.start(self._place, settings=SETTINGS)
        except StorageError as error:
            if str(self._place) not in str(error):
                raise AssertionError("an error that names no file") from error
            return "StorageError"
        try:
            lost = 0
            for ledger_id, entries in folder.entries.items():
                lost += await self._read(store, ledger_id, entries if honest else None)
            await self._append(store)
        finally:
            await store.close()
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
        assert grown < MEMORY_GROWTH_MAX, f"memory grew by {grown:,} bytes"
        return "entries lost" if lost else "all there"

    def _write(self, folder: Folder) -> bool:
        """Put the files there, one or two of them changed. Whether no checksum was forged."""
        names = sorted(folder.files)
        changed = {self.chance.choice(names) for _ in range(self.chance.randint(1, 2))}
        honest = True
        for name in names:
            data = folder.files[name]
            if name in changed:
                if self.chance.random() < 0.3:
                    data, honest = self._forge(data), False
                else:
                    data = self._damage(data)
                if self.chance.random() < 0.05:
                    continue  # It is gone altogether.
            (self._place / name).write_bytes(data)
        return honest

    def _damage(self, data: bytes) -> bytes:
        """Change it near its beginning, near its end, or around a record."""
        way = self.chance.random()
        starts = _records(data, _stamp(data))
        if way < 0.6 and starts:
            at = self.chance.choice(starts)
            size = self.chance.choice((HEAD_SIZE, 400))
            return data[:at] + self._mutator.mutate(data[at : at + size]) + data[at + size :]
        if way < 0.8:
            return data[:-200] + self._mutator.mutate(data[-200:])
        return self._mutator.mutate(data)

    def _forge(self, data: bytes) -> bytes:
        """A number changed, and the checksum over it made right."""
        which = self.chance.randrange(3)
        stamp = _stamp(data)
        if which == 0 or stamp is None:
            return self._forge_header(bytearray(data))
        if which == 1 and data[-TRAILER_SIZE:].startswith(b"MgFt"):
            return self._forge_footer(bytearray(data), stamp)
        return self._forge_record(bytearray(data), stamp)

    def _number(self, size: int) -> bytes:
        return (self.chance.choice(NUMBERS) & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def _forge_header(self, data: bytearray) -> bytes:
        if len(data) < TABLES_AT:
            return bytes(data)
        at, size = self.chance.choice(((16, 8), (24, 8), (32, 4), (36, 4), (40, 8), (48, 8)))
        data[at : at + size] = self._number(size)
        counts = int.from_bytes(data[32:36], "little"), int.from_bytes(data[36:40], "little")
        end = TABLES_AT + 8 * counts[0] + 16 * counts[1]
        data[8:12] = crc32c(bytes(data[12:end])).to_bytes(4, "little")
        return bytes(data)

    def _forge_footer(self, data: bytearray, stamp: Stamp) -> bytes:
        start = int.from_bytes(data[-16:-8], "little")
        at = self.chance.choice((start, start + 4, len(data) - 16, len(data) - 8))
        if self.chance.random() < 0.7:
            at = start + 8 + 4 * self.chance.randrange(max((len(data) - 40 - start) // 4, 1))
        size = self.chance.choice((4, 8))
        data[at : at + size] = self._number(size)
        covered = bytes(data[start:-TRAILER_SIZE]) + bytes(data[-24:])
        data[-28:-24] = stamped(stamp, covered).to_bytes(4, "little")
        return bytes(data)

    def _forge_record(self, data: bytearray, stamp: Stamp) -> bytes:
        starts = _records(bytes(data), stamp)
        if not starts:
            return bytes(data)
        at = self.chance.choice(starts)
        place, size = self.chance.choice(
            ((12, 1), (13, 1), (16, 4), (20, 8), (28, 8), (36, 8), (44, 8), (52, 4), (64, 4))
        )
        data[at + place : at + place + size] = self._number(size)
        head = head_at(bytes(data), at, stamp)
        if head is not None:
            covered = bytes(data[at + 12 : at + HEAD_SIZE + 8 * head.entries])
            data[at + 8 : at + 12] = stamped(stamp, covered).to_bytes(4, "little")
        return bytes(data)

    async def _read(
        self, store: LocalLedgerStore, ledger_id: int, entries: list[bytes] | None
    ) -> int:
        """How many entries are gone. Those that are there are the right ones."""
        try:
            reader = await store.open(ledger_id)
        except StorageError:
            return 1
        found = 0
        at = 0
        end = min(reader.end.last_entry_id, 4000)
        while at <= end:
            try:
                some = await reader.read(at, 10**6, READ_BYTES_MAX)
            except StorageError:
                at += 1
                continue
            assert some.data, "a read brings at least one entry"
            assert some.checksums == [crc32c(entry) for entry in some.data]
            if entries is not None:
                assert some.data == entries[at : at + len(some.data)], f"wrong bytes at {at}"
            at += len(some.data)
            found += len(some.data)
        return max(len(entries or []) - found, 0)

    async def _append(self, store: LocalLedgerStore) -> None:
        """It can be used, whatever it lost."""
        try:
            ledger = await store.create()
            first = await append(ledger, *run(b"new", b"entries"))
            assert (await ledger.read(first, 10, READ_BYTES_MAX)).data == [b"new", b"entries"]
        except StorageError:
            return


def _stamp(data: bytes) -> Stamp | None:
    """Of a segment; a spare has none."""
    try:
        return decode_header(data).stamp
    except BadFormat:
        return None


def _records(data: bytes, stamp: Stamp | None) -> list[int]:
    """Where records seem to start."""
    if stamp is None:
        return []
    found = []
    at = data.find(stamp.salt, TABLES_AT)
    while at >= 0:
        found.append(at)
        at = data.find(stamp.salt, at + 1)
    return found
