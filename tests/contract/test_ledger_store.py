"""What every ledger store promises, kept by every ledger store."""

import asyncio
from contextlib import AsyncExitStack

import pytest
from support.bookkeeper import bookkeeper_store
from support.many_logs import two_logs
from support.simulated import SimulatedBookies
from unit.storage.ledger.local.support import append, everything, run, snapshot

from magnetar.errors import EntryNotFound, InvalidValue, LedgerFenced, LedgerNotFound, StorageError
from magnetar.storage.ledger.bookkeeper.ledger_metadata import DigestType
from magnetar.storage.ledger.local.settings import Durability, LocalLedgerSettings
from magnetar.storage.ledger.local.store import LocalLedgerStore
from magnetar.storage.ledger.memory import MemoryLedgerStore
from magnetar.storage.ledger.store import LedgerOptions

MIB = 1024 * 1024
ALL = 10**9


class MemoryHome:
    """Nothing outlives a store in memory."""

    async def open(self):
        return MemoryLedgerStore()


class LocalHome:
    """A folder in which one store after the other is opened."""

    def __init__(self, folder, **settings):
        self._folder = folder / "ledgers"
        self._settings = LocalLedgerSettings(**settings)
        self._opened = []

    async def open(self):
        store = await LocalLedgerStore.start(self._folder, settings=self._settings)
        self._opened.append(store)
        return store

    async def open_after_crash(self):
        """A store on what the running one has on disk right now."""
        copy = self._folder.with_name(f"crashed-{len(self._opened)}")
        self._folder = snapshot(self._folder, copy)
        return await self.open()

    async def close(self):
        for store in self._opened:
            await store.close()


class OtherLogHome:
    """A folder with the logs of two processes: one creates ledgers, the other opens and deletes."""

    def __init__(self, folder):
        self._folder = folder
        self._opened = AsyncExitStack()

    async def open(self):
        one, other = await self._opened.enter_async_context(two_logs(self._folder))
        other.create = one.create
        other.check, other.close = one.check, one.close
        return other

    async def close(self):
        await self._opened.aclose()


class BookKeeperHome:
    """Three bookies, which other tests use too."""

    def __init__(self, cluster, **settings):
        self._cluster = cluster
        self._settings = settings
        self._opened = AsyncExitStack()

    async def open(self):
        store = bookkeeper_store(self._cluster, **self._settings)
        return await self._opened.enter_async_context(store)

    async def open_after_crash(self):
        return await self.open()

    async def close(self):
        await self._opened.aclose()


REPLICATED = {
    "bookkeeper": {},
    "bookkeeper-striped": {"ensemble_size": 3, "write_quorum": 2, "ack_quorum": 1},
    "bookkeeper-mac": {"digest_type": DigestType.HMAC, "password": b"secret"},
}
SLOW = [
    pytest.param("bookkeeper", marks=pytest.mark.slow),
    pytest.param("bookkeeper-striped", marks=[pytest.mark.slow, pytest.mark.long]),
    pytest.param("bookkeeper-mac", marks=[pytest.mark.slow, pytest.mark.long]),
]
LOCAL = {
    "local": {},
    "local-interval": {"durability": Durability.INTERVAL, "interval_s": 0.01},
    "local-small-segments": {"durability": Durability.NONE, "segment_size": 16 * 1024},
}


SIMULATED = "simulated-bookkeeper"


@pytest.fixture(params=["memory", "other-log", *LOCAL, SIMULATED, *SLOW])
async def home(request, tmp_path):
    if request.param == "memory":
        yield MemoryHome()
        return
    if request.param == "other-log":
        home = OtherLogHome(tmp_path)
        yield home
        await home.close()
        return
    home = lasting_home(request, tmp_path)
    yield home
    await home.close()


def lasting_home(request, tmp_path):
    if request.param in LOCAL:
        return LocalHome(tmp_path, **LOCAL[request.param])
    if request.param == SIMULATED:
        return SimulatedBookies()
    return BookKeeperHome(request.getfixturevalue("cluster"), **REPLICATED[request.param])


@pytest.fixture(params=[*LOCAL, SIMULATED, *SLOW])
async def lasting(request, tmp_path):
    home = lasting_home(request, tmp_path)
    yield home
    await home.close()


@pytest.fixture
async def store(home):
    return await home.open()


async def test_a_new_ledger_is_empty(store):
    ledger = await store.create()
    assert ledger.end == (-1, 0)


async def test_ledger_ids_ascend(store):
    ids = [(await store.create()).ledger_id for _ in range(5)]
    assert ids == sorted(set(ids))


async def test_a_store_without_replicas_writes_its_copy_whatever_is_asked_for(store):
    ledger = await store.create(LedgerOptions(3, 2, 2, {"application": b"pulsar"}))
    await append(ledger, *run("a", "b"))
    assert await ledger.read(0, ALL, MIB) == run("a", "b")
    assert (await store.create()).ledger_id > ledger.ledger_id


@pytest.mark.parametrize("numbers", [(1, 2, 1), (3, 2, 3), (0, 1, 1), (1, 1, -1)])
def test_copies_that_no_store_can_keep_are_refused_by_name(numbers):
    ensemble, write, ack = numbers
    with pytest.raises(InvalidValue, match=f"size {ensemble} .* quorum {write} .* quorum {ack}"):
        LedgerOptions(ensemble, write, ack)


async def test_ids_of_deleted_ledgers_are_not_used_again(store):
    first = await store.create()
    await store.delete(first.ledger_id)
    assert (await store.create()).ledger_id > first.ledger_id


async def test_ledgers_created_together_have_ids_of_their_own(store):
    ledgers = await asyncio.gather(*(store.create() for _ in range(20)))
    assert len({ledger.ledger_id for ledger in ledgers}) == 20


async def test_entries_are_numbered_from_zero_without_gaps(store):
    ledger = await store.create()
    assert await append(ledger, *run("a", "b", "c")) == 0
    assert await append(ledger, *run("d")) == 3
    assert ledger.end == (3, 4)


async def test_what_was_appended_is_read(store):
    ledger = await store.create()
    await append(ledger, *run("a", "b"))
    await append(ledger, *run("c"))
    entries = await ledger.read(0, ALL, MIB)
    assert entries == run("a", "b", "c")


async def test_appends_complete_in_the_order_of_their_calls(store):
    ledger = await store.create()
    done = []

    async def work(number):
        done.append((number, await append(ledger, *run(number))))

    async with asyncio.TaskGroup() as tasks:
        for number in range(50):
            tasks.create_task(work(number))
    assert done == [(number, number) for number in range(50)]
    assert await everything(ledger) == [str(number).encode() for number in range(50)]


async def test_ledgers_do_not_mix(store):
    ledgers = [await store.create() for _ in range(7)]

    async def fill(ledger):
        for turn in range(20):
            await append(ledger, *run(*(f"{ledger.ledger_id}-{turn}-{i}" for i in range(3))))

    await asyncio.gather(*map(fill, ledgers))
    for ledger in ledgers:
        expected = [f"{ledger.ledger_id}-{turn}-{i}" for turn in range(20) for i in range(3)]
        assert [entry.decode() for entry in await everything(ledger)] == expected


async def test_a_read_starts_anywhere(store):
    ledger = await store.create()
    await append(ledger, *run(*range(10)))
    await append(ledger, *run(*range(10, 20)))
    for first in range(20):
        entries = await ledger.read(first, ALL, MIB)
        assert entries.data[0] == str(first).encode()
        assert entries.data == [str(n).encode() for n in range(first, first + len(entries.data))]


async def test_a_read_brings_no_more_entries_than_asked_for(store):
    ledger = await store.create()
    await append(ledger, *run(*range(10)))
    assert (await ledger.read(3, 4, MIB)).data == [b"3", b"4", b"5", b"6"]
    assert (await ledger.read(3, 1, MIB)).data == [b"3"]


async def test_a_read_stops_at_about_as_many_bytes_as_asked_for(store):
    ledger = await store.create()
    await append(ledger, *run(*(bytes([n]) * 100 for n in range(50))))
    entries = await ledger.read(0, ALL, 1000)
    assert 9 <= len(entries.data) <= 11


async def test_a_read_brings_an_entry_however_large_it_is(store):
    ledger = await store.create()
    await append(ledger, *run(b"x" * 100_000))
    assert len((await ledger.read(0, ALL, 1)).data) == 1


async def test_a_read_beyond_the_end_finds_no_entry(store):
    ledger = await store.create()
    with pytest.raises(EntryNotFound):
        await ledger.read(0, 1, MIB)
    await append(ledger, *run("a"))
    with pytest.raises(EntryNotFound):
        await ledger.read(1, 1, MIB)
    with pytest.raises(EntryNotFound):
        await ledger.read(-1, 1, MIB)


async def test_large_entries_come_back_whole(store):
    ledger = await store.create()
    large = [bytes([n]) * (5 * MIB) for n in range(3)]
    await append(ledger, *run(*large))
    await append(ledger, *run("small"))
    assert await everything(ledger) == [*large, b"small"]
    assert ledger.end == (3, 15 * MIB + 5)


async def test_empty_entries_come_back_empty(store):
    ledger = await store.create()
    await append(ledger, *run(b"", b"", b"x", b""))
    assert await everything(ledger) == [b"", b"", b"x", b""]


async def test_long_runs_come_back_whole(request, store):
    """They have more entries than a record of our log, or than a bookie is asked for at once."""
    count = 6_000 if "bookkeeper" in request.node.name else 70_000
    ledger = await store.create()
    data, checksums = run(*range(count))
    assert await append(ledger, data, checksums) == 0
    assert await append(ledger, *run("next")) == count
    assert await everything(ledger) == [*data, b"next"]


async def test_a_closed_ledger_takes_no_more(store):
    ledger = await store.create()
    await append(ledger, *run("a"))
    assert await ledger.close() == (0, 1)
    with pytest.raises(LedgerFenced):
        await append(ledger, *run("b"))
    assert await ledger.close() == (0, 1)
    assert await everything(ledger) == [b"a"]


async def test_closing_waits_for_appends_under_way(store):
    ledger = await store.create()
    appending = asyncio.ensure_future(append(ledger, *run("a", "b")))
    await asyncio.sleep(0)
    assert await ledger.close() == (1, 2)
    assert await appending == 0


async def test_opening_a_ledger_fences_its_writer(store):
    writer = await store.create()
    await append(writer, *run("a"))
    reader = await store.open(writer.ledger_id)
    why = f"ledger {writer.ledger_id} takes no more entries: it was opened elsewhere"
    with pytest.raises(LedgerFenced, match=why):
        await append(writer, *run("b"))
    assert reader.end == writer.end == (0, 1)
    assert await everything(reader) == [b"a"]


async def test_opening_waits_for_appends_under_way(store):
    writer = await store.create()
    appending = asyncio.ensure_future(append(writer, *run("a", "b")))
    await asyncio.sleep(0)
    reader = await store.open(writer.ledger_id)
    assert reader.end == (1, 2)
    assert await appending == 0


async def test_a_ledger_is_opened_as_often_as_you_like(store):
    writer = await store.create()
    await append(writer, *run("a"))
    readers = [await store.open(writer.ledger_id) for _ in range(3)]
    assert {reader.end for reader in readers} == {(0, 1)}
    assert [reader.ledger_id for reader in readers] == [writer.ledger_id] * 3


async def test_an_unknown_ledger_is_not_found(store):
    with pytest.raises(LedgerNotFound):
        await store.open(12_345)


async def test_a_deleted_ledger_is_gone(store):
    writer = await store.create()
    await append(writer, *run("a"))
    await store.delete(writer.ledger_id)
    with pytest.raises(LedgerNotFound):
        await store.open(writer.ledger_id)
    with pytest.raises(LedgerFenced):
        await append(writer, *run("b"))
    with pytest.raises(LedgerNotFound):
        await writer.read(0, 1, MIB)


async def test_deleting_what_is_not_there_is_fine(store):
    await store.delete(12_345)
    ledger = await store.create()
    await store.delete(ledger.ledger_id)
    await store.delete(ledger.ledger_id)


async def test_deleting_one_ledger_leaves_the_others(store):
    keep, drop = await store.create(), await store.create()
    for number in range(10):
        await append(keep, *run(f"keep {number}"))
        await append(drop, *run(f"drop {number}"))
    await store.delete(drop.ledger_id)
    await append(keep, *run("keep 10"))
    assert await everything(keep) == [f"keep {number}".encode() for number in range(11)]


async def test_cancelling_an_append_does_not_take_it_back(store):
    ledger = await store.create()
    appending = asyncio.ensure_future(append(ledger, *run("a")))
    await asyncio.sleep(0)
    appending.cancel()
    assert await append(ledger, *run("b")) == 1
    assert await everything(ledger) == [b"a", b"b"]


async def test_every_append_is_answered_once(store):
    """Under way, to a closed ledger, and to a store that closes meanwhile."""
    answers = {}

    def ask(ledger, name):
        heard = answers[name] = []
        ledger.append(*run(name), lambda first, error: heard.append((first, type(error))))
        assert not heard, "never before the call returns"

    one, other, deleted = [await store.create() for _ in range(3)]
    await other.close()
    ask(one, "lands")
    ask(other, "closed")
    await store.delete(deleted.ledger_id)
    ask(deleted, "deleted")
    ask(one, "under way")
    await store.close()
    ask(one, "too late")
    await asyncio.sleep(0)
    nothing = type(None)
    assert answers == {
        "lands": [(0, nothing)],
        "closed": [(-1, LedgerFenced)],
        "deleted": [(-1, LedgerFenced)],
        "under way": [(1, nothing)],
        "too late": [(-1, LedgerFenced)],
    }


async def test_a_closed_store_takes_no_more(store):
    ledger = await store.create()
    await append(ledger, *run("a"))
    await store.close()
    with pytest.raises(LedgerFenced):
        await append(ledger, *run("b"))
    with pytest.raises(StorageError):
        await store.create()
    with pytest.raises(StorageError):
        await store.open(ledger.ledger_id)
    assert await ledger.close() == (0, 1)
    await store.close()


async def test_closing_a_store_finishes_appends_under_way(store):
    ledger = await store.create()
    appending = asyncio.ensure_future(append(ledger, *run("a")))
    await asyncio.sleep(0)
    await store.close()
    assert await appending == 0


@pytest.fixture(params=["closed", "crashed"])
def again(request, lasting):
    """Opens the store again, after it was closed or after its process died."""

    async def open_again(store):
        if request.param == "crashed":
            return await lasting.open_after_crash()
        await store.close()
        return await lasting.open()

    return open_again


async def test_entries_are_there_again(lasting, again):
    store = await lasting.open()
    ledgers = [await store.create() for _ in range(3)]
    for turn in range(30):
        for ledger in ledgers:
            await append(ledger, *run(f"{ledger.ledger_id}-{turn}", b"x" * 300))
    await ledgers[0].close()
    store = await again(store)
    for ledger in ledgers:
        reader = await store.open(ledger.ledger_id)
        assert reader.end == ledger.end
        names = [f"{ledger.ledger_id}-{turn}".encode() for turn in range(30)]
        assert (await everything(reader))[::2] == names


async def test_empty_ledgers_are_there_again(lasting, again):
    store = await lasting.open()
    ledger = await store.create()
    store = await again(store)
    assert (await store.open(ledger.ledger_id)).end == (-1, 0)


async def test_deleted_ledgers_stay_deleted(lasting, again):
    store = await lasting.open()
    keep, drop = await store.create(), await store.create()
    await append(drop, *run(b"x" * 1000))
    await append(keep, *run("keep"))
    await store.delete(drop.ledger_id)
    for _ in range(2):
        store = await again(store)
        with pytest.raises(LedgerNotFound):
            await store.open(drop.ledger_id)
        assert await everything(await store.open(keep.ledger_id)) == [b"keep"]


async def test_ids_are_not_used_again_after_all_is_deleted(lasting, again):
    store = await lasting.open()
    last = -1
    for _ in range(3):
        ledger = await store.create()
        assert ledger.ledger_id > last
        last = ledger.ledger_id
        await append(ledger, *run(b"x" * 20_000))
        await store.delete(last)
        store = await again(store)


async def test_a_store_goes_on_after_it_was_opened_again(lasting, again):
    store = await lasting.open()
    expected = {}
    for turn in range(6):
        ledger = await store.create()
        data, checksums = run(*(f"{turn}-{n}" for n in range(100)), b"y" * 3000)
        await append(ledger, data, checksums)
        expected[ledger.ledger_id] = data
        store = await again(store)
        for ledger_id, entries in expected.items():
            assert await everything(await store.open(ledger_id)) == entries
