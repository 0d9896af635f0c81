"""A ledger that is opened while bookies fail."""

import asyncio

import pytest
from support.loop import until
from support.simulated import SimulatedBookies
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import StorageError
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings
from magnetar.storage.ledger.bookkeeper.wire import Code


@pytest.fixture
async def bookies():
    bookies = SimulatedBookies()  # There are three, and each entry is at two.
    yield bookies
    await bookies.close()


@pytest.mark.parametrize("silent", [True, False])
async def test_a_recovery_for_which_too_few_bookies_store_can_be_begun_again(bookies, silent):
    """It waited for ever, for one that had failed and was to have the entries again."""
    writer = await bookies.open()
    ledger = await writer.create()
    for text in ("a", "b"):
        await append(ledger, *run(text))
    store = await bookies.open(settings=BookKeeperSettings(recovery_timeout_s=0.1))
    asked = []
    well = ledger.metadata.last_segment.ensemble[0]
    ill = [bookie for bookie_id, bookie in bookies.bookies.items() if bookie_id != well]

    def add(_key, stored, _flags, answer):
        asked.append(stored)
        if not silent:
            answer(Code.IO_ERROR, ledger.ledger_id, 1)

    for each in ill:
        each.add = add
    with pytest.raises(StorageError, match=r"start (them|bookies)"):
        await store.open(ledger.ledger_id)
    assert len(asked) == len(ill), "each was asked once"
    for each in ill:
        del each.add
    assert await everything(await store.open(ledger.ledger_id)) == [b"a", b"b"]


@pytest.mark.parametrize("place", [0, 1])
async def test_an_entry_that_is_torn_at_one_bookie_and_nowhere_else_ends_the_ledger(bookies, place):
    """It was never answered: a bookie that answers has synced all of it."""
    writer = await bookies.open()
    ledger = await writer.create()
    await append(ledger, *run("a"))
    ensemble = ledger.metadata.last_segment.ensemble
    torn, other = bookies.bookies[ensemble[place]], bookies.bookies[ensemble[1 - place]]
    arrived = asyncio.Event()
    other.add = lambda *_: arrived.set()
    ledger.append(*run("b"), lambda *_: None)
    await arrived.wait()
    entries = torn._ledgers[ledger.ledger_id].entries
    await until(lambda: 1 in entries)
    entries[1] = entries[1][:20] + bytes(len(entries[1]) - 20)
    del other.add
    assert await everything(await (await bookies.open()).open(ledger.ledger_id)) == [b"a"]
