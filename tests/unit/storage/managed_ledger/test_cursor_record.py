"""Positions that are too large for a cursor's record. ``test_cursor_store.py`` has the others."""

import pytest
from unit.storage.managed_ledger.logs import NAME, PATH, append, entries, load_cursors, open_list

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import Position
from magnetar.proto.ManagedLedger_pb2 import ManagedCursorInfo
from magnetar.storage.codec.cursor import CursorState
from magnetar.storage.codec.pulsar_codec import PulsarCodec
from magnetar.storage.managed_ledger.cursor_store import CursorStore
from magnetar.storage.managed_ledger.settings import ledger_metadata

CURSOR = f"{PATH}/s"
HOLES = list(range(1, 20_001, 2))


@pytest.fixture
async def store(logs):
    logs.codec = PulsarCodec()
    opened, _ = await open_list(logs)
    return CursorStore(NAME, logs.factory(), opened)


def state(entry_id, holes=HOLES, **properties):
    ranges = {3: (holes, holes)} if holes else {}
    return CursorState(Position(3, entry_id), ranges, properties=properties)


async def recorded(logs):
    return ManagedCursorInfo.FromString((await logs.metadata.get(CURSOR)).value)


async def loaded(store):
    found, _ = (await load_cursors(store))["s"]
    return found


async def test_very_many_holes_are_in_a_ledger_and_the_record_stays_small(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0, colour="blue"))
    puts = logs.metadata.paths_put.count(CURSOR)
    value = (await logs.metadata.get(CURSOR)).value
    assert len(value) < 100
    assert logs.ledgers.options[-1].metadata == ledger_metadata(NAME, "s")
    await record.save(lambda: state(0, HOLES[1:], colour="blue"))
    assert logs.metadata.paths_put.count(CURSOR) == puts, "the ledger alone got the second one"
    found = await loaded(store)
    assert (found.ranges, found.properties) == ({3: (HOLES[1:], HOLES[1:])}, {"colour": "blue"})


async def test_properties_are_in_the_record_whatever_is_in_the_ledger(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0))
    await record.save(lambda: state(0, colour="blue"))
    assert [each.name for each in (await recorded(logs)).cursorProperties] == ["colour"]


async def test_a_batch_that_is_acknowledged_in_part_is_in_a_ledger(logs, store):
    record = await store.create("s", state(0, []))
    batches = [(Position(3, 5), [0b101])]
    await record.save(lambda: CursorState(Position(3, 0), batches=batches))
    assert not (await recorded(logs)).batchedEntryDeletionIndexInfo
    assert (await loaded(store)).batches == batches


async def test_a_position_that_is_small_again_is_in_the_record_again(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0, HOLES[:250]))
    assert (await recorded(logs)).cursorsLedgerId in logs.ledgers.existing
    await record.save(lambda: state(1, HOLES[:50]))
    assert (await recorded(logs)).cursorsLedgerId in logs.ledgers.existing, "not to and fro"
    await record.close()
    found, record = (await load_cursors(store))["s"]
    assert found.mark == Position(3, 1)
    await record.save(lambda: state(2, HOLES[:50]))
    assert (await recorded(logs)).cursorsLedgerId == -1
    assert logs.ledgers.existing == set()
    assert (await loaded(store)).mark == Position(3, 2)


async def test_the_ledger_of_before_goes_when_the_record_names_another(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0))
    (before,) = logs.ledgers.existing
    _, record = (await load_cursors(store))["s"]
    await record.save(lambda: state(1))
    (now,) = logs.ledgers.existing
    assert now != before
    assert (await loaded(store)).mark == Position(3, 1)
    await record.delete()
    assert logs.ledgers.existing == set()


async def test_a_save_that_fails_goes_to_another_ledger(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0))
    logs.ledgers.appends.failures = [WriteFailed("disk full")]
    with pytest.raises(WriteFailed):
        await record.save(lambda: state(1))
    assert (await loaded(store)).mark == Position(3, 0)
    await record.save(lambda: state(1))
    assert (await loaded(store)).mark == Position(3, 1)
    assert len(logs.ledgers.existing) == 1


async def test_a_former_owner_finds_its_ledger_fenced(logs, store):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(0))
    opened, _ = await open_list(logs)
    assert (await loaded(CursorStore(NAME, logs.factory(), opened))).mark == Position(3, 0)
    with pytest.raises(Fenced):
        await record.save(lambda: state(1))


async def test_without_its_ledger_a_cursor_starts_at_the_mark_in_its_record(logs, store, caplog):
    record = await store.create("s", state(0, []))
    await record.save(lambda: state(5))
    await record.save(lambda: state(9))
    await logs.ledgers.delete((await recorded(logs)).cursorsLedgerId)
    found = await loaded(store)
    assert (found.mark, found.ranges) == (Position(3, 5), {})
    assert "cursor.ledger_missing" in caplog.text


async def test_holes_of_an_open_log_come_back(logs):
    logs.codec = PulsarCodec()
    ledger = await logs.open()
    cursor = await ledger.open_cursor("s", Position(-1, -1))
    await append(ledger, entries(1000))
    cursor.acknowledge_entries(0, range(1, 1000, 2))
    await ledger.close()
    cursor = (await logs.open()).cursors["s"]
    assert (cursor.backlog, cursor.acked_ranges) == (500, 500)


async def test_a_save_whose_answer_was_lost_with_a_connection_is_ours(logs):
    """As a store does that wrote before it lost its connection, and then finds what it wrote."""
    opened, _ = await open_list(logs)
    store = CursorStore(NAME, logs.factory(), opened)
    record = await store.create("s", state(0, []))
    value = logs.codec.encode_cursor(state(1, []), name="s")
    version = await logs.metadata.put(CURSOR, value)
    puts = logs.metadata.paths_put.count(CURSOR)
    await record.save(lambda: state(1, []))
    assert logs.metadata.paths_put.count(CURSOR) == puts + 1, "it is not written once more"
    await record.save(lambda: state(2, []))
    assert (await logs.metadata.get(CURSOR)).version == version + 1
