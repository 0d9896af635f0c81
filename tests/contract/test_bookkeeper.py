"""A ledger store when its bookies fail, and BookKeeper's own tools beside it."""

import asyncio
import json
import shutil
from contextlib import AsyncExitStack, suppress
from unittest.mock import patch

import pytest
from support.bookkeeper import bookkeeper_store, others_say, session
from support.loop import until
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import (
    ConnectionLost,
    InvalidValue,
    LedgerFenced,
    NotEnoughBookies,
    StorageError,
    TimedOut,
)
from magnetar.model.names import NamespaceName
from magnetar.storage.ledger.bookkeeper import inspection
from magnetar.storage.ledger.bookkeeper.inspection import frames_are_taken, spaces_of_bookies
from magnetar.storage.ledger.bookkeeper.ledger_metadata import LedgerState
from magnetar.storage.ledger.bookkeeper.placement import PlacementRule
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.store import LedgerOptions
from magnetar.storage.metadata import paths

pytestmark = pytest.mark.slow


@pytest.fixture
async def open_store(cluster):
    async with AsyncExitStack() as stack:

        async def open_one(**settings):
            return await stack.enter_async_context(bookkeeper_store(cluster, **settings))

        yield open_one


@pytest.fixture
async def restored(cluster):
    """All bookies run again when a test has ended."""
    yield cluster
    for bookie in cluster.bookies:
        if not bookie.running:
            bookie.start()
    for number, bookie in enumerate(cluster.bookies):
        cluster.go_on(number)
        await asyncio.to_thread(bookie.await_ready, bookie.answers)


def bookie_of(cluster, ledger):
    """The number of a bookie that a ledger is written to."""
    ids = [bookie.bookie_id for bookie in cluster.bookies]
    return ids.index(ledger.metadata.last_segment.ensemble[0])


class Load:
    """Appends runs, some at once, until it is told to end; knows what was answered."""

    def __init__(self, ledger):
        self.ledger = ledger
        self.answered = 0
        self.longest_s = 0.0  # Between two answers.
        self._clock = asyncio.get_running_loop().time
        self._going = True
        self._wanted = 0
        self._reached = asyncio.Event()

    async def run(self):
        last = self._clock()
        while self._going:
            texts = [b"%d" % (self.answered + number) for number in range(10)]
            await append(self.ledger, *run(*texts))
            self.answered += len(texts)
            self.longest_s = max(self.longest_s, self._clock() - last)
            last = self._clock()
            if self.answered >= self._wanted:
                self._reached.set()

    async def until(self, count):
        self._wanted = count
        self._reached.clear()
        await self._reached.wait()

    def end(self):
        self._going = False


@pytest.mark.parametrize("how", ["killed", "stopped"])
async def test_a_bookie_that_fails_is_replaced_and_nothing_is_lost(open_store, restored, how):
    ledger = await (await open_store()).create()
    load = Load(ledger)
    loading = asyncio.ensure_future(load.run())
    await load.until(200)
    number = bookie_of(restored, ledger)
    if how == "killed":
        restored.bookies[number].kill()
    else:
        restored.stop(number)
    await load.until(load.answered + 200)
    load.end()
    await loading
    assert len(ledger.metadata.segments) == 2
    assert load.longest_s < 2
    reader = await (await open_store()).open(ledger.ledger_id)
    assert await everything(reader) == [b"%d" % n for n in range(load.answered)]


async def test_who_opens_a_ledger_ends_its_writer(open_store):
    ledger = await (await open_store()).create()
    await append(ledger, *run("a", "b"))
    reader = await (await open_store()).open(ledger.ledger_id)
    assert await everything(reader) == [b"a", b"b"]
    with pytest.raises(LedgerFenced):
        await append(ledger, *run("c"))
    assert reader.end == (1, 2)


@pytest.mark.parametrize(("behind", "reads_max"), [(1, 8), (100, 300)])
async def test_recovery_asks_for_little_more_than_there_is(open_store, behind, reads_max):
    """None of the entries says that another one was confirmed: they are one run."""
    ledger = await (await open_store()).create()
    await append(ledger, *run(*range(behind)))
    store = await open_store()
    reader = await store.open(ledger.ledger_id)
    assert reader.end.last_entry_id == behind - 1
    reads = [each.counts.reads for each in store.bookies()]
    assert sum(each.latency.count + each.failed for each in reads) <= reads_max
    assert await everything(reader) == [b"%d" % n for n in range(behind)]


async def test_a_ledger_is_recovered_while_one_of_its_bookies_is_away(open_store, restored):
    ledger = await (await open_store()).create()
    for number in range(50):
        await append(ledger, *run(number))
    restored.bookies[bookie_of(restored, ledger)].kill()
    reader = await (await open_store()).open(ledger.ledger_id)
    assert await everything(reader) == [b"%d" % n for n in range(50)]


async def test_a_ledger_is_not_recovered_where_bookies_that_are_away_may_have_more(
    open_store, restored
):
    sizes = {"ensemble_size": 3, "write_quorum": 2, "ack_quorum": 1}
    ledger = await (await open_store(**sizes)).create()
    for number in range(50):
        await append(ledger, *run(number))
    bookie = restored.bookies[bookie_of(restored, ledger)]
    bookie.kill()
    with pytest.raises(StorageError, match="start them"):
        await (await open_store()).open(ledger.ledger_id)
    bookie.start()
    await asyncio.to_thread(bookie.await_ready, bookie.answers)
    reader = await (await open_store()).open(ledger.ledger_id)
    assert await everything(reader) == [b"%d" % n for n in range(50)]


async def test_too_few_bookies_are_told_with_the_remedy(open_store):
    store = await open_store()
    with pytest.raises(NotEnoughBookies, match="managedLedgerDefaultEnsembleSize"):
        await store.create(LedgerOptions(5, 2, 2))


async def test_copies_are_on_the_racks_that_pulsars_record_has_now(cluster, open_store):
    one, two, three = (bookie.bookie_id for bookie in cluster.bookies)
    store = await open_store(placement=PlacementRule(enforced=True))

    async with session(cluster) as metadata:
        try:
            with pytest.raises(NotEnoughBookies, match="on 1 racks"):
                await store.create()
            racks = {one: {"rack": "/r1"}, two: {"rack": "/r1"}, three: {"rack": "r2"}}
            await metadata.put(paths.BOOKIES, json.dumps({"default": racks}).encode())
            await until(lambda: len(store._bookies.placement({}).racks.by_bookie) == 3)
            ensembles = [(await store.create()).metadata.last_segment.ensemble for _ in range(6)]
            assert [each for each in ensembles if three not in each] == []
        finally:
            await metadata.delete(paths.BOOKIES)


async def test_topics_are_at_the_bookies_that_their_namespace_prefers(cluster, open_store):
    one, two, three = (bookie.bookie_id for bookie in cluster.bookies)
    sizes = {"ensemble_size": 1, "write_quorum": 1, "ack_quorum": 1}
    store = await open_store(**sizes)
    where = paths.local_policies(NamespaceName("t", "n"))
    groups = {"bookkeeperAffinityGroupPrimary": "a", "bookkeeperAffinityGroupSecondary": "b"}
    racks = {"a": {one: {}}, "b": {two: {}}, "c": {three: {}}}
    ours = LedgerOptions(metadata={"pulsar/managed-ledger": b"t/n/persistent/topic"})
    async with session(cluster) as metadata:
        try:
            await metadata.put(where, json.dumps({"bookieAffinityGroup": groups}).encode())
            await metadata.put(paths.BOOKIES, json.dumps(racks).encode())
            await until(lambda: store._bookies.placement({}).racks.groups)
            ledgers = [await store.create(ours) for _ in range(6)]
            assert {each.metadata.last_segment.ensemble for each in ledgers} == {(one,)}
            others = [(await store.create()).metadata.last_segment.ensemble for _ in range(40)]
            assert set(others) == {(one,), (two,), (three,)}
            again = store._bookies.placement(ledgers[0].metadata.custom)
            with pytest.raises(NotEnoughBookies, match="in the groups a,b"):
                again.replace((one,), {one}, 1)
            two_of_them = LedgerOptions(2, 2, 2, metadata=ours.metadata)
            ensemble = (await store.create(two_of_them)).metadata.last_segment.ensemble
            assert set(ensemble) == {one, two}
        finally:
            await metadata.delete(where)
            await metadata.delete(paths.BOOKIES)


async def test_bookies_say_how_full_they_are(cluster, restored):
    settings = BookKeeperSettings()
    async with session(cluster) as metadata:
        found = await spaces_of_bookies(metadata, settings)
        total = shutil.disk_usage(cluster.bookies[0].conf.parent).total
        assert set(found) == {bookie.bookie_id for bookie in cluster.bookies}
        for space in found.values():
            assert space.total == total
            assert 0 < space.free <= total
        with patch.object(inspection, "TIMEOUT_S", 0.3):
            restored.stop(0)
            one, two = (cluster.bookies[number].bookie_id for number in (0, 1))
            found = await spaces_of_bookies(metadata, settings)
            assert isinstance(found[one], TimedOut)
            assert found[two].total == total


async def test_bookies_say_what_frames_they_take(cluster, restored):
    async with session(cluster) as metadata:
        for size, taken in [(5_253_120, True), (5_253_121, False)]:
            found = await frames_are_taken(metadata, BookKeeperSettings(), size)
            assert set(found.values()) == {taken}
        restored.bookies[0].kill()
        found = await frames_are_taken(metadata, BookKeeperSettings(), 1000)
        assert isinstance(found[cluster.bookies[0].bookie_id], ConnectionLost)


async def test_bookies_that_are_all_away_are_tried_more_and_more_seldom(open_store, restored):
    store = await open_store()
    ledger = await store.create()
    await append(ledger, *run("a"))
    for bookie in restored.bookies:
        bookie.kill()
    appended = asyncio.ensure_future(append(ledger, *run("b")))
    done, _ = await asyncio.wait([appended], timeout=1.5)
    assert not done
    assert (await store._manager.read(ledger.ledger_id)).version < 12
    for bookie in restored.bookies:
        bookie.start()
    with suppress(StorageError):  # While they begin, there may be too few for a moment.
        await appended


async def test_a_ledger_with_another_password_is_not_opened(open_store):
    ledger = await (await open_store(password=b"one")).create()
    await append(ledger, *run("a"))
    with pytest.raises(InvalidValue, match="password"):
        await (await open_store(password=b"two")).open(ledger.ledger_id)


async def test_bookkeepers_own_client_and_ours_read_and_recover_what_the_other_wrote(
    cluster, open_store
):
    store = await open_store()
    ledgers = [await store.create(LedgerOptions(3, 2, 2)) for _ in range(2)]
    for ledger in ledgers:
        await append(ledger, *run(*(b"entry %d" % n for n in range(20))))
    await ledgers[0].close()
    closed, left = (each.ledger_id for each in ledgers)
    asked = (f"read={closed}", f"recover={left}", "close=50", "write=50")
    *shown, one, other = await others_say(cluster, *asked)
    entries = [f"{n} entry {n}" for n in range(20)]
    assert shown == [f"of {closed} closed true", *entries, f"of {left} closed true", *entries]
    stored = await store.metadata_of(left)
    assert (stored.state, stored.last_entry_id) == (LedgerState.CLOSED, 19)
    with pytest.raises(LedgerFenced):
        await append(ledgers[1], *run("late"))

    for wrote in (one, other):
        reader = await (await open_store()).open(int(wrote.removeprefix("wrote ")))
        assert await everything(reader) == [b"entry %d" % n for n in range(50)]
