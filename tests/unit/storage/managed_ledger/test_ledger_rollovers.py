from dataclasses import replace

import pytest
from support.loop import iterations, until_idle
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    append,
    entries,
    everything,
)

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import EARLIEST, LATEST


async def test_a_full_ledger_is_followed_by_another(small):
    places = [await append(small, entries(3, start=start)) for start in range(0, 12, 3)]
    assert places == [(0, 0), (0, 3), (1, 0), (1, 3)]
    assert small.layout.ledger_ids == [0, 1]
    assert await everything(small) == entries(12)
    assert small.layout.entries_between(EARLIEST, LATEST) == 12


async def test_a_young_ledger_may_hold_more(logs):
    logs.settings = replace(logs.settings, entries_per_ledger_max=5, ledger_age_min_s=60)
    ledger = await logs.open()
    await append(ledger, entries(10))
    await append(ledger, entries(10))
    assert len(ledger.layout.ledger_ids) == 1
    await logs.clock.advance(60)
    await append(ledger, entries(1))
    assert len(ledger.layout.ledger_ids) == 2


async def test_an_old_ledger_that_nothing_is_appended_to_ends(logs, ledger):
    await logs.clock.advance(logs.settings.ledger_age_max_s)
    await ledger.roll_over_if_due()
    assert ledger.layout.open_id == 0, "an empty one is as good as new"
    await append(ledger, entries(1))
    await ledger.roll_over_if_due()
    assert ledger.layout.open_id is None
    await ledger.roll_over_if_due()
    assert await append(ledger, entries(1, start=1)) == (1, 0)


async def test_housekeeping_leaves_a_ledger_alone_that_is_appended_to(logs, ledger):
    await append(ledger, entries(1))
    await logs.clock.advance(logs.settings.ledger_age_max_s)
    logs.ledgers.creates.close()
    appending = logs.tasks.spawn("append", append(ledger, entries(1, start=1)))
    await until_idle()
    await ledger.roll_over_if_due()
    logs.ledgers.creates.open()
    assert await appending == (1, 0)
    assert await everything(ledger) == entries(2)


async def test_an_append_waits_for_a_rollover_under_way(logs, ledger):
    await append(ledger, entries(1))
    await logs.clock.advance(logs.settings.ledger_age_max_s)
    logs.ledgers.closes.close()
    rolling = logs.tasks.spawn("roll", ledger.roll_over_if_due())
    await until_idle()
    appending = logs.tasks.spawn("append", append(ledger, entries(1, start=1)))
    await until_idle()
    assert ledger.layout.open_id == 0
    logs.ledgers.closes.open()
    await rolling
    assert await appending == (1, 0)
    assert ledger.layout.ledger_ids == [0, 1]


async def test_a_ledger_that_was_not_recorded_is_deleted(logs, ledger):
    await append(ledger, entries(1))
    await logs.roll(ledger)
    logs.metadata.puts.failing = WriteFailed("disk full")
    with pytest.raises(Fenced):
        await append(ledger, entries(1))
    logs.metadata.puts.failing = None
    assert logs.ledgers.existing == {0}
    assert await everything(await logs.open()) == entries(1)


async def test_reading_goes_on_through_rollovers(logs, small):
    cursor = await small.open_cursor("s", EARLIEST)
    read = []

    async def reader():
        while len(read) < 200:
            for run in await cursor.reader.read(7, BYTES_MAX):
                read.extend(run.data)
            await iterations(1)

    reading = logs.tasks.spawn("read", reader())
    for start in range(0, 200, 4):
        await append(small, entries(4, start=start))
        await iterations(3)
    await reading
    assert read == entries(200)
