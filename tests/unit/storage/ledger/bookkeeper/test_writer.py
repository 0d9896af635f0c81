"""When a writer gives up a bookie that answers nothing, and how long the next one has."""

import asyncio
from contextlib import suppress

import pytest
from support.clock import ManualClock
from support.loop import until
from support.simulated import SimulatedBookies
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import LedgerFenced, MetadataLost
from magnetar.storage.ledger.bookkeeper.settings import BookKeeperSettings

SETTINGS = BookKeeperSettings()  # Each entry is at two bookies.


@pytest.fixture
async def bookies():
    bookies = SimulatedBookies()  # There are three.
    yield bookies
    await bookies.close()


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
async def appending(bookies, clock):
    """An append to two bookies of which some are ``mute`` then, and what the store counts."""
    ended = []

    async def appending(*, mute):
        store = await bookies.open(clock=clock, settings=SETTINGS)
        ledger = await store.create()
        await append(ledger, *run("before"))
        there = ledger.metadata.last_segment.ensemble
        for bookie_id in [*there, *(bookies.bookies.keys() - there)][:mute]:
            bookies.bookies[bookie_id].mute = True
        appended = asyncio.ensure_future(append(ledger, *run("after")))
        ended.append((store, ledger, appended))
        answers = 2 + max(2 - mute, 0)
        await until(lambda: sum(each.counts.added for each in store.bookies()) == answers)
        await clock.until_asleep()
        return store.counts

    yield appending
    for store, ledger, appended in ended:
        await store.delete(ledger.ledger_id)
        with suppress(LedgerFenced):
            await appended


async def test_a_bookie_that_takes_a_position_has_as_long_as_the_first(appending, clock):
    counts = await appending(mute=3)
    await clock.advance(SETTINGS.add_timeout_s - 1)
    assert counts.ensemble_changes == 0, "there is none that is better"
    await clock.advance(2)
    changes = counts.ensemble_changes
    assert changes > 0
    await clock.advance(SETTINGS.add_timeout_s - 2)
    assert counts.ensemble_changes == changes
    await clock.advance(2)
    assert counts.ensemble_changes > changes


async def test_a_process_that_stood_still_gives_bookies_time_to_be_heard(appending, clock, caplog):
    counts = await appending(mute=1)
    clock.move(SETTINGS.silent_s * 5)
    await clock.advance(0)
    assert "has not stored an entry" not in caplog.text, "what it has answered was not read"
    await clock.advance(SETTINGS.silent_s)
    assert "has not stored an entry" in caplog.text
    await until(lambda: counts.ensemble_changes == 1)


async def test_a_ledger_whose_end_could_not_be_stored_is_opened_when_it_can(bookies):
    store = await bookies.open(settings=SETTINGS)
    metadata = store._namespaces_in
    ledger = await store.create()
    await append(ledger, *run("a", "b"))
    put = metadata.put

    async def away(path, *_, **__):
        raise MetadataLost(f"nobody takes {path}")

    metadata.put = away
    with pytest.raises(MetadataLost):
        await ledger.close()
    metadata.put = put
    reader = await store.open(ledger.ledger_id)
    assert await everything(reader) == [b"a", b"b"]
