import pytest
from unit.storage.managed_ledger.logs import (
    Logs,
    append,
    drain,
    entries,
    everything,
)

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import EARLIEST, Position


@pytest.mark.parametrize("clean", [True, False])
async def test_a_log_comes_back(logs, small, clean):
    cursor = await small.open_cursor("a/b c", EARLIEST, properties={"k": "v"})
    for start in range(0, 13, 2):
        await append(small, entries(2, start=start))
    cursor.acknowledge_cumulative(Position(0, 3))
    await cursor.flush()
    if clean:
        await small.close()
    again = await logs.open()
    assert again.layout.open_id is None
    assert (again.entry_count, again.last_position) == (14, small.last_position)
    assert await everything(again) == entries(14)
    assert again.cursors["a/b c"].properties == {"k": "v"}
    assert await drain(again.cursors["a/b c"]) == entries(10, start=4)


async def test_after_a_crash_the_former_owner_cannot_append(logs, ledger):
    await append(ledger, entries(2))
    again = await logs.open()
    with pytest.raises(Fenced):
        await append(ledger, entries(1, start=2))
    assert await append(again, entries(1, start=2)) == (1, 0)
    assert await everything(again) == entries(3)
    assert await everything(ledger) == entries(2), "what was there stays readable"


async def test_a_former_owner_notices_when_it_rolls_over(logs, ledger):
    await append(ledger, entries(1))
    await logs.roll(ledger)
    again = await logs.open()
    with pytest.raises(Fenced, match="another broker"):
        await append(ledger, entries(1))
    assert len(logs.ledgers.existing) == 1
    assert await everything(again) == entries(1)


async def test_positions_are_right_across_empty_ledgers(logs, ledger):
    await append(ledger, entries(2))
    for _ in range(3):
        logs.ledgers.appends.failures = [WriteFailed("disk full")]
        broken = await logs.open()
        with pytest.raises(Fenced):
            await append(broken, entries(1))
    again = await logs.open()
    assert logs.ledgers.existing == {0}
    assert (again.layout.first, again.last_position) == ((0, 0), (0, 1))
    assert again.next_position(Position(0, 1)) == (0, 2)
    place = await append(again, entries(1, start=2))
    assert again.next_position(Position(0, 1)) == place
    assert await everything(again) == entries(3)


@pytest.mark.parametrize("fatal", range(14))
async def test_a_crash_at_any_write_of_metadata_loses_nothing(fatal):
    """Whatever write the process dies at, what was answered and not acknowledged is there."""
    logs = Logs(entries_per_ledger_max=4, ledger_age_min_s=0)
    answered, acknowledged = await live_until_put_number(logs, fatal)
    again = await logs.open()
    kept = await everything(again)
    start = int(kept[0]) if kept else len(answered)
    assert kept == entries(len(kept), start=start)
    assert set(answered) <= set(kept) | set(entries(acknowledged))
    assert start <= acknowledged, "only what was acknowledged is gone"
    assert (await drain(again.cursors["s"]))[-2:] == entries(12)[len(answered) - 2 : len(answered)]
    assert logs.ledgers.existing == set(again.layout.ledger_ids)
    await append(again, entries(1))
    await logs.tasks.close()


async def live_until_put_number(logs, fatal):
    """A short life that ends when metadata is written for the ``fatal``th time."""
    answered, acknowledged, last = [], 0, EARLIEST
    try:
        ledger = await logs.open()
        cursor = await ledger.open_cursor("s", EARLIEST)
        for start in range(0, 12, 2):
            if logs.metadata.puts.passed >= fatal:
                logs.metadata.puts.failing = WriteFailed("died")
            await append(ledger, entries(2, start=start))
            answered += entries(2, start=start)
            # The newest two are never acknowledged.
            cursor.acknowledge_cumulative(last)
            acknowledged, last = start, ledger.last_position
            await logs.clock.advance(1)
    except Fenced:
        pass
    logs.metadata.puts.failing = None
    return answered, acknowledged
