"""Managed ledgers over stores in memory that wait or fail on demand."""

import asyncio

from google_crc32c import value as checksum
from support.clock import ManualClock
from unit.storage.ledger.local.support import append as append_to

from magnetar.errors import StorageError
from magnetar.message.entry_traits import EntryTraits
from magnetar.model.counts import LogCounts
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET, LedgerEnd
from magnetar.storage.managed_ledger.cache import EntryCache
from magnetar.storage.managed_ledger.cursor_store import read_cursors
from magnetar.storage.managed_ledger.entries import Entries
from magnetar.storage.managed_ledger.ledger_list import LedgerList
from magnetar.storage.managed_ledger.log_reader import LogReader
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.memory import MemoryMetadataStore, MemoryTree
from magnetar.tasks import Tasks

NAME = "public/default/persistent/orders"
PATH = f"/managed-ledgers/{NAME}"
BYTES_MAX = 1024 * 1024


class Gate:
    """Closed, it holds whoever comes. ``failing`` turns all away; ``failures`` one each."""

    def __init__(self):
        self._open = asyncio.Event()
        self._open.set()
        self.failing: StorageError | None = None
        self.failures: list[StorageError] = []
        self.waiting = 0
        self.passed = 0

    def close(self):
        self._open.clear()

    def open(self):
        self._open.set()

    async def enter(self):
        self.waiting += 1
        await self._open.wait()
        self.waiting -= 1
        self.passed += 1
        if self.failing is not None:
            raise self.failing
        if self.failures:
            raise self.failures.pop(0)


class GatedLedger:
    """A ledger whose reads and appends go through gates."""

    def __init__(self, ledger, store):
        self._ledger = ledger
        self._store = store

    @property
    def ledger_id(self):
        return self._store.ours(self._ledger.ledger_id)

    @property
    def end(self):
        return self._store.end_of(self._ledger.end)

    over_limit = False

    def append(self, data, checksums, answered):
        self._store.tasks.spawn("append", self._append(data, checksums, answered))

    async def _append(self, data, checksums, answered):
        try:
            await self._store.appends.enter()
            first = await append_to(self._ledger, data, checksums)
        except StorageError as error:
            answered(-1, error)
        else:
            await self._store.answers.enter()
            answered(first, None)

    async def read(self, first, count_max, bytes_max):
        await self._store.reads.enter()
        if first + count_max > self._store.damaged_from:
            self._store.read_damage(first, count_max)
        return await self._ledger.read(first, count_max, bytes_max)

    async def close(self):
        await self._store.closes.enter()
        return self._store.end_of(await self._ledger.close())


class GatedLedgerStore:
    """A ledger store in memory behind gates, whose ledgers are 0, 1, 2."""

    def __init__(self):
        self._store = MemoryLedgerStore()
        self.tasks = Tasks("ledgers")
        self._zero = 0
        self.created = 0
        self.lost_after = 2**62
        self.beside = 0  # Bytes that are stored with each entry, as BookKeeper's store does.
        self.appends, self.answers, self.reads, self.creates = Gate(), Gate(), Gate(), Gate()
        self.opens, self.closes, self.deletes = Gate(), Gate(), Gate()
        self.damaged_from = 2**62
        self.damage = None
        self.existing = set()
        self.opened = []
        self.options = []  # Of each ledger that was created.

    def read_damage(self, first, count):
        if any(entry == self.damaged_from for entry in range(first, first + count)):
            raise self.damage

    def end_of(self, end):
        size_bytes = end.size_bytes + self.beside * (end.last_entry_id + 1)
        return LedgerEnd(min(end.last_entry_id, self.lost_after), size_bytes)

    def ours(self, ledger_id):
        return ledger_id - self._zero

    async def create(self, options=AS_THE_STORE_IS_SET):
        await self.creates.enter()
        ledger = await self._store.create(options)
        self.options.append(options)
        if not self.created:
            self._zero = ledger.ledger_id
        self.created += 1
        self.existing.add(self.ours(ledger.ledger_id))
        return GatedLedger(ledger, self)

    async def open(self, ledger_id):
        self.opened.append(ledger_id)
        await self.opens.enter()
        return GatedLedger(await self._store.open(ledger_id + self._zero), self)

    async def delete(self, ledger_id):
        await self.deletes.enter()
        self.existing.discard(ledger_id)
        await self._store.delete(ledger_id + self._zero)

    async def close(self):
        await self._store.close()


class GatedMetadataStore(MemoryMetadataStore):
    """A metadata store in memory whose changes go through gates."""

    def __init__(self, tree):
        super().__init__(tree)
        self.puts, self.deletes = Gate(), Gate()
        self.paths_put = []

    async def put(self, path, value, *, expected_version=None, ephemeral=False):
        await self.puts.enter()
        self.paths_put.append(path)
        return await super().put(
            path, value, expected_version=expected_version, ephemeral=ephemeral
        )

    async def delete(self, path, *, expected_version=None):
        await self.deletes.enter()
        await super().delete(path, expected_version=expected_version)


class Logs:
    """What managed ledgers stand on. Each ``open`` is another broker, or the same one again."""

    def __init__(self, **settings):
        self.tree = MemoryTree()
        self.metadata = GatedMetadataStore(self.tree)
        self.ledgers = GatedLedgerStore()
        self.cache = EntryCache()
        self.codec = JsonCodec()
        self.offloader = None
        self.clock = ManualClock()
        self.tasks = Tasks("test")
        self.settings = ManagedLedgerSettings(**settings)
        self.saver = None  # The one of the last ``open``.
        self.counts = LogCounts()

    def factory(self, *, cached=True, metadata=None):
        factory = ManagedLedgerFactory(
            codec=self.codec,
            metadata=metadata or self.metadata,
            ledgers=self.ledgers,
            cache=self.cache if cached else EntryCache(0),
            clock=self.clock,
            tasks=self.tasks,
            settings=self.settings,
            offloader=self.offloader,
        )
        self.saver = factory.saver
        return factory

    async def open(self, name=NAME, *, cached=True, metadata=None):
        factory = self.factory(cached=cached, metadata=metadata)
        return await factory.open(name, counts=self.counts)

    async def roll(self, ledger):
        """End the current ledger, as a rollover by age does."""
        self.clock.move(self.settings.ledger_age_max_s)
        await ledger.roll_over_if_due()


async def open_list(logs, metadata=None):
    """The list of ledgers, taken over as a log that is opened does."""
    context = logs.factory(metadata=metadata)
    record = await context.metadata.get(paths.managed_ledger(NAME))
    opened = LedgerList.of(NAME, record, context)
    reader, _ = await opened.end_what_was_open()
    await opened.take_over()
    await opened.delete_removed()
    return opened, reader


async def load_cursors(store):
    """The states of the cursors of a log, and their records."""
    children = await store.context.metadata.children(paths.managed_ledger(store.name))
    read = await read_cursors(store.name, store.context, children)
    return {name: (each.state, store.record(name, each)) for name, each in read.items()}


def entries(count, *, start=0, size=1):
    """Distinct entries: their number, filled up with dots."""
    return [str(number).encode().ljust(size, b".") for number in range(start, start + count)]


def reader_of(logs, ledger, cache=None):
    """Another reader of an open log."""
    return LogReader(
        ledger.layout,
        ledgers=logs.ledgers,
        cache=logs.cache if cache is None else cache,
        tasks=logs.tasks,
        counts=logs.counts,
    )


async def append(ledger, data, traits=None):
    """Append entries that each count for one message; the ledger's id and the first entry's."""
    answer = asyncio.get_running_loop().create_future()

    def stored(ledger_id, first, error):
        if answer.cancelled():
            return
        if error is None:
            answer.set_result((ledger_id, first))
        else:
            answer.set_exception(error)

    data = list(data)
    traits = traits or EntryTraits([1] * len(data))
    checksums = list(map(checksum, data))
    ledger.append(Entries(data, checksums, traits, sum(map(len, data))), stored)
    return await answer


def places(first, last, ledger_id=0):
    return [Position(ledger_id, entry) for entry in range(first, last + 1)]


def acknowledge(cursor, positions):
    """Acknowledge entries of any ledgers, in any order."""
    for ledger_id in dict.fromkeys(place.ledger_id for place in positions):
        entry_ids = [place.entry_id for place in positions if place.ledger_id == ledger_id]
        cursor.acknowledge_entries(ledger_id, entry_ids)


def run_of(ledger_id, first, count, *, size=1):
    return EntryRun(
        ledger_id,
        first,
        entries(count, start=first, size=size),
        [7] * count,
        EntryTraits([1] * count),
    )


def data_of(runs):
    """All entries of some runs."""
    return [entry for run in runs for entry in run.data]


async def drain(cursor, entries_max=1000, bytes_max=BYTES_MAX):
    """Read to the end; the entries."""
    found = []
    while runs := await cursor.reader.read(entries_max, bytes_max):
        found += data_of(runs)
    return found


async def everything(ledger):
    """All entries, from wherever they are."""
    found, place = [], EARLIEST
    while run := await ledger.read(place, 1000, BYTES_MAX):
        found += run.data
        place = Position(run.ledger_id, run.last_entry_id + 1)
    return found
