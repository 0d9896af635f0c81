from dataclasses import replace

import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import NAME, PATH, append, entries, everything

from magnetar.errors import CorruptEntry, WriteFailed
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
from magnetar.storage.ledger.store import AS_THE_STORE_IS_SET
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory


def factory_of(logs):
    return ManagedLedgerFactory(
        codec=JsonCodec(),
        metadata=logs.metadata,
        ledgers=logs.ledgers,
        cache=logs.cache,
        clock=logs.clock,
        tasks=logs.tasks,
    )


async def test_one_saver_saves_the_cursors_of_all_its_logs(logs):
    factory = factory_of(logs)
    for name in (NAME, f"{NAME}-2"):
        ledger = await factory.open(name)
        cursor = await ledger.open_cursor("s", EARLIEST)
        await append(ledger, entries(3))
        cursor.acknowledge_cumulative(Position(ledger.last_position.ledger_id, 1))
    assert not factory.saver.idle
    await logs.clock.advance(factory.settings.cursor_save_interval_s)
    for name in (NAME, f"{NAME}-2"):
        assert (await logs.open(name)).cursors["s"].mark.entry_id == 1


async def test_a_log_may_have_settings_of_its_own(logs):
    factory = factory_of(logs)
    one_each = replace(factory.settings, entries_per_ledger_max=1, ledger_age_min_s=0)
    ledger = await factory.open(NAME, one_each)
    other = await factory.open(f"{NAME}-2")
    for each in (ledger, other):
        await append(each, entries(1))
        await append(each, entries(1, start=1))
        assert await everything(each) == entries(2)
    assert [len(each.layout.sealed) for each in (ledger, other)] == [1, 0]


async def changes_of_the_list(logs, work):
    """What ``work`` returns, and how often it wrote the list of ledgers."""
    before = (await logs.metadata.get(PATH)).version
    found = await work
    return found, (await logs.metadata.get(PATH)).version - before


async def test_a_ledger_that_was_begun_has_its_place_in_the_write_that_takes_the_log_over(logs):
    factory = factory_of(logs)
    before = await factory.open(NAME)
    await append(before, entries(2))
    begun = factory.begin(NAME, AS_THE_STORE_IS_SET)
    opening = factory.open(NAME, found=await factory.find(NAME), begun=begun)
    ledger, writes = await changes_of_the_list(logs, opening)
    assert writes == 1
    assert ledger.layout.open_id == (await begun).ledger_id
    _, writes = await changes_of_the_list(logs, append(ledger, entries(1, start=2)))
    assert writes == 0
    assert await everything(ledger) == entries(3)


async def test_a_ledger_that_was_begun_too_early_is_deleted(logs):
    factory = factory_of(logs)
    begun = factory.begin(NAME, AS_THE_STORE_IS_SET)
    early = (await begun).ledger_id
    await append(await factory.open(NAME), entries(1))
    ledger = await factory.open(NAME, begun=begun)
    assert ledger.layout.open_id is None
    assert early not in logs.ledgers.existing
    await append(ledger, entries(1, start=1))
    assert await everything(ledger) == entries(2)


async def test_a_log_that_changed_since_it_was_found_is_read_again(logs):
    factory = factory_of(logs)
    await factory.open(NAME)
    found = await factory.find(NAME)
    await factory.open(NAME)  # Somebody was faster.
    begun = factory.begin(NAME, AS_THE_STORE_IS_SET)
    await factory.open(NAME, found=found, begun=begun)
    assert (await begun).ledger_id in logs.ledgers.existing


async def test_a_log_is_not_created_without_its_first_ledger(logs):
    factory = factory_of(logs)
    logs.ledgers.creates.failures = [WriteFailed("the disk is full")]
    with pytest.raises(WriteFailed):
        await factory.open(NAME)
    assert await logs.metadata.get(PATH) is None
    await append(await factory.open(NAME), entries(1))


async def test_a_log_that_is_not_opened_keeps_nothing_that_was_begun(logs):
    factory = factory_of(logs)
    await logs.metadata.put(PATH, b"nothing that can be read")
    begun = factory.begin(NAME, AS_THE_STORE_IS_SET)
    with pytest.raises(CorruptEntry):
        await factory.open(NAME, begun=begun)
    await until_idle()
    assert (await begun).ledger_id not in logs.ledgers.existing


async def test_who_is_handed_a_log_writes_its_list_alone(logs):
    factory = factory_of(logs)
    former = await factory.open(NAME)
    await append(former, entries(2))
    _, writes = await changes_of_the_list(logs, former.close(handed_over=True))
    assert writes == 0
    ledger = await factory.open(NAME)
    assert [each.last_entry_id for each in ledger.layout.sealed] == [1]
    assert await everything(ledger) == entries(2)


async def test_what_was_found_while_another_broker_had_a_log_is_read_along(logs):
    factory = factory_of(logs)
    former = await factory.open(NAME)
    await append(former, entries(3))
    cursor = await former.open_cursor("s", EARLIEST)
    before = await factory.find(NAME)
    ledger_id = former.last_position.ledger_id
    cursor.acknowledge_cumulative(Position(ledger_id, 1))
    await former.open_cursor("late", EARLIEST)
    await former.close(handed_over=True)
    found = await factory.find(NAME, before)
    assert set(found.read) == {"s"}
    assert found.ended.ledger_id == ledger_id
    opened = len(logs.ledgers.opened)
    ledger = await factory.open(NAME, found=found)
    assert len(logs.ledgers.opened) == opened
    assert {name: each.mark.entry_id for name, each in ledger.cursors.items()} == {
        "s": 1,
        "late": -1,
    }
    assert await everything(ledger) == entries(3)


async def test_a_ledger_that_followed_the_one_that_was_found_is_ended_too(logs):
    factory = factory_of(logs)
    former = await factory.open(NAME)
    await append(former, entries(1))
    before = await factory.find(NAME)
    await logs.roll(former)
    await append(former, entries(1, start=1))
    await former.close(handed_over=True)
    ledger = await factory.open(NAME, found=await factory.find(NAME, before))
    assert [each.last_entry_id for each in ledger.layout.sealed] == [0, 0]
    assert await everything(ledger) == entries(2)


async def test_what_cannot_be_read_along_is_found_when_the_log_is_opened(logs):
    factory = factory_of(logs)
    former = await factory.open(NAME)
    await append(former, entries(1))
    before = await factory.find_soon(NAME)
    await former.close()
    await logs.ledgers.delete(former.last_position.ledger_id)
    found = await factory.find(NAME, before)
    assert found.ended is None
