import asyncio
from dataclasses import replace

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import (
    BYTES_MAX,
    NAME,
    PATH,
    acknowledge,
    append,
    data_of,
    drain,
    entries,
    everything,
    open_list,
)

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_object import decode, encode


async def ledgers_left(logs, ledger):
    await logs.clock.advance(1)
    assert set(ledger.layout.ledger_ids) == logs.ledgers.existing
    return ledger.layout.ledger_ids


async def test_what_every_cursor_has_passed_goes(logs, ledger):
    one, two = [await ledger.open_cursor(name, EARLIEST) for name in ("one", "two")]
    for start in (0, 10, 20):
        await append(ledger, entries(10, start=start))
        await logs.roll(ledger)
    one.acknowledge_cumulative(Position(2, 9))
    assert await ledgers_left(logs, ledger) == [0, 1, 2]
    two.acknowledge_cumulative(Position(0, 8))
    assert await ledgers_left(logs, ledger) == [0, 1, 2]
    two.acknowledge_cumulative(Position(1, 3))
    assert await ledgers_left(logs, ledger) == [1, 2]
    await ledger.delete_cursor("two")
    assert await ledgers_left(logs, ledger) == []
    assert (ledger.entry_count, ledger.size_bytes, ledger.last_position) == (0, 0, (2, 9))
    assert (one.backlog, one.reader.has_more) == (0, False)
    assert await append(ledger, entries(1, start=30)) == (3, 0)
    assert await drain(one) == entries(1, start=30)


async def test_a_reader_does_not_hold_ledgers_back(logs, ledger):
    cursor, passing = await ledger.open_cursor("s", EARLIEST), ledger.open_reader("r", EARLIEST)
    for start in (0, 10, 20):
        await append(ledger, entries(10, start=start))
        await logs.roll(ledger)
    assert data_of(await passing.reader.read(4, BYTES_MAX)) == entries(4)
    cursor.acknowledge_cumulative(Position(1, 9))
    assert await ledgers_left(logs, ledger) == [2]
    assert (passing.mark, passing.reader.read_position, passing.backlog) == ((1, 9), (2, 0), 10)
    assert await drain(passing) == entries(10, start=20)


async def test_a_reader_that_is_passed_over_says_so_once(logs, ledger, caplog):
    ledger.open_reader("still", EARLIEST)
    reading = ledger.open_reader("reading", EARLIEST)

    async def skipped():
        """A ledger is deleted; the log lines that tell of it."""
        caplog.clear()
        await append(ledger, entries(10))
        await logs.roll(ledger)
        await logs.clock.advance(1)
        return [each.getMessage().split(": ")[0] for each in caplog.records]

    said = f"cursor.skipped name={NAME} cursor="
    assert await skipped() == [
        f"{said}still from=0:0 to=0:10",
        f"{said}reading from=0:0 to=0:10",
    ]
    await append(ledger, entries(10))
    assert len(await drain(reading)) == 10
    assert await skipped() == [f"{said}reading from=1:10 to=1:20"], "the other has not moved"


async def test_without_cursors_only_the_current_ledger_stays(logs, small):
    for start in range(0, 15, 5):
        await append(small, entries(5, start=start))
    assert await ledgers_left(logs, small) == [2]
    assert await everything(small) == entries(5, start=10)


async def test_opening_a_log_trims_nothing(logs, ledger):
    """Whoever comes right after a restart finds what was there before."""
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    await logs.clock.advance(10)
    assert await everything(again) == entries(20)
    await again.trim()
    assert await everything(again) == entries(10, start=10)


async def test_retention_keeps_what_is_acknowledged(logs):
    logs.settings = replace(logs.settings, retention_time_s=60, retention_size_bytes=-1)
    ledger = await logs.open()
    await append(ledger, entries(10))
    await logs.roll(ledger)
    assert await ledgers_left(logs, ledger) == [0]
    await logs.clock.advance(60)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == []


async def test_retention_can_be_changed_while_the_log_is_open(logs):
    ledger = await logs.open()
    ledger.retain(-1, -1)
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == [0]
    ledger.retain(0, 0)
    await ledger.trim()
    assert await ledgers_left(logs, ledger) == []


async def test_trims_are_recorded_before_ledgers_are_deleted(logs, ledger):
    await append(ledger, entries(10))
    await logs.roll(ledger)
    logs.ledgers.deletes.close()
    await logs.clock.advance(1)
    assert logs.ledgers.existing == {0}
    logs.ledgers.deletes.failures = [WriteFailed("died")]
    logs.ledgers.deletes.open()
    await until_idle()
    assert logs.ledgers.existing == {0}
    again = await logs.open()
    assert logs.ledgers.existing == {1}, "what a crash left is deleted now"
    assert again.last_position == (0, 9)
    assert again.entry_count == 0


async def test_the_next_trim_deletes_what_could_not_be_deleted(logs, ledger):
    await append(ledger, entries(10))
    logs.ledgers.deletes.failures = [WriteFailed("disk full")]
    await logs.roll(ledger)
    await logs.clock.advance(1)
    assert logs.ledgers.existing == {0}
    await ledger.trim()
    assert logs.ledgers.existing == set()


async def test_a_trim_that_cannot_be_recorded_deletes_nothing(logs, ledger):
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await logs.open()
    with pytest.raises(Fenced):
        await ledger.trim()
    assert logs.ledgers.existing == {0}


async def test_a_read_of_what_is_being_trimmed_goes_on_behind_it(logs, ledger):
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    logs.ledgers.reads.close()
    reading = logs.tasks.spawn("read", again.read(EARLIEST, 100, BYTES_MAX))
    await until_idle()
    await again.trim()
    logs.ledgers.reads.open()
    assert (await reading).data in (entries(10), entries(10, start=10))
    assert (await again.read(EARLIEST, 100, BYTES_MAX)).data == entries(10, start=10)


async def test_a_cursor_that_is_created_during_a_trim_starts_with_what_is_left(logs, ledger):
    await append(ledger, entries(10))
    await ledger.close()
    again = await logs.open()
    await append(again, entries(10, start=10))
    logs.metadata.puts.close()
    trimming = logs.tasks.spawn("trim", again.trim())
    creating = logs.tasks.spawn("create", again.open_cursor("s", EARLIEST))
    await until_idle()
    logs.metadata.puts.open()
    await asyncio.gather(trimming, creating)
    assert await drain(again.cursors["s"]) == entries(10, start=10)
    assert again.cursors["s"].backlog == 10


async def test_a_trimmed_ledger_leaves_the_memory(logs, ledger):
    ledger.open_reader("reader", EARLIEST)
    await append(ledger, entries(10))
    await logs.roll(ledger)
    assert logs.cache.size_bytes > 0
    await logs.clock.advance(1)
    assert logs.cache.size_bytes == 0


async def test_stored_marks_in_trimmed_ledgers_are_clamped(logs, ledger):
    await ledger.open_cursor("s", EARLIEST)
    await append(ledger, entries(10))
    await logs.roll(ledger)
    await append(ledger, entries(10, start=10))
    other, _ = await open_list(logs)
    await other.change(lambda layout: layout.remove([0]))
    again = await logs.open()
    assert again.cursors["s"].mark == (0, 9)
    assert await drain(again.cursors["s"]) == entries(10, start=10)


async def test_fields_of_later_versions_survive_what_is_changed(logs, ledger):
    """A newer broker stored them, and an older one goes on with the log."""
    await (await ledger.open_cursor("s", EARLIEST)).flush()
    await append(ledger, entries(10))
    await ledger.close()
    for path, within in ((PATH, "ledgers"), (f"{PATH}/s", None)):
        fields = decode((await logs.metadata.get(path)).value)
        fields["later"] = {"a": [1]}
        for each in fields[within] if within else ():
            each["later"] = "b"
        await logs.metadata.put(path, encode(fields))
    again = await logs.open()
    await append(again, entries(10, start=10))
    await logs.roll(again)
    acknowledge(again.cursors["s"], [Position(0, 0), Position(0, 5)])
    await again.close()
    stored = decode((await logs.metadata.get(PATH)).value)
    assert stored["later"] == {"a": [1]}
    assert [each.get("later") for each in stored["ledgers"]] == ["b", None]
    assert decode((await logs.metadata.get(f"{PATH}/s")).value)["later"] == {"a": [1]}
