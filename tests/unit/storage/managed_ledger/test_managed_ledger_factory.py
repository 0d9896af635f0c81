from dataclasses import replace

from unit.storage.managed_ledger.logs import NAME, append, entries, everything

from magnetar.model.position import EARLIEST, Position
from magnetar.storage.codec.json_codec import JsonCodec
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
