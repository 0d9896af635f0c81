import asyncio

import pytest
from support.loop import until_idle
from unit.storage.ledger.local.support import append
from unit.storage.managed_ledger.logs import PATH, GatedMetadataStore, open_list

from magnetar.errors import Fenced, WriteFailed
from magnetar.storage.codec.ledger_list import SealedLedger
from magnetar.storage.managed_ledger.ledger_list import LogOwnership
from magnetar.storage.metadata.store import ABSENT


async def opened_list(logs, metadata=None):
    return (await open_list(logs, metadata))[0]


@pytest.fixture
async def ledger_list(logs):
    return await opened_list(logs)


def begin(ledger_id):
    return lambda layout: layout.begin(ledger_id)


async def test_opening_creates_the_record(logs, ledger_list):
    assert ledger_list.layout.entry_count == 0
    assert (await logs.metadata.get(PATH)).version == 0


async def test_an_empty_record_is_an_empty_log(logs):
    await logs.metadata.put(PATH, b"")
    assert (await opened_list(logs)).layout.ledger_ids == []


async def test_opening_again_takes_the_log_from_whoever_had_it(logs, ledger_list):
    await opened_list(logs)
    with pytest.raises(Fenced, match="another broker"):
        await ledger_list.change(begin(4))
    assert ledger_list.ownership is LogOwnership.LOST
    assert ledger_list.layout.open_id is None
    with pytest.raises(Fenced):
        ledger_list.check()


async def test_of_two_that_open_at_once_one_is_refused(logs):
    other = GatedMetadataStore(logs.tree)
    logs.metadata.puts.close()
    first = logs.tasks.spawn("open", open_list(logs))
    await until_idle()
    assert logs.metadata.puts.waiting == 1
    await opened_list(logs, other)
    logs.metadata.puts.open()
    with pytest.raises(Fenced, match="another broker"):
        await first


async def test_a_ledger_left_open_is_fenced_and_sealed(logs):
    writer = await logs.ledgers.create()
    await append(writer, [b"one", b"two"], [1, 2])
    await (await opened_list(logs)).change(begin(writer.ledger_id))
    again, reader = await open_list(logs)
    assert reader.ledger_id == writer.ledger_id
    assert list(again.layout.sealed) == [SealedLedger(writer.ledger_id, 1, 6, logs.clock.wall_ms())]
    assert again.layout.open_id is None


async def test_an_empty_ledger_left_open_is_deleted(logs):
    writer = await logs.ledgers.create()
    await (await opened_list(logs)).change(begin(writer.ledger_id))
    again = await opened_list(logs)
    assert again.layout.ledger_ids == []
    assert logs.ledgers.existing == set()
    assert list(again.layout.deleting) == []


async def test_an_open_ledger_that_is_missing_was_never_written_to(logs):
    await (await opened_list(logs)).change(begin(77))
    assert (await opened_list(logs)).layout.ledger_ids == []


async def test_deletions_that_a_crash_interrupted_are_made_up_for(logs, ledger_list):
    writer = await logs.ledgers.create()
    await ledger_list.change(begin(writer.ledger_id))
    await ledger_list.change(lambda layout: layout.seal(0, 1, 1))
    await ledger_list.change(lambda layout: layout.remove([writer.ledger_id]))
    assert logs.ledgers.existing == {writer.ledger_id}
    await opened_list(logs)
    assert logs.ledgers.existing == set()


async def test_changes_take_turns_and_all_are_recorded(logs, ledger_list):
    logs.metadata.puts.close()
    changes = [
        logs.tasks.spawn("begin", ledger_list.change(begin(1))),
        logs.tasks.spawn("seal", ledger_list.change(lambda layout: layout.seal(3, 9, 5))),
        logs.tasks.spawn("begin", ledger_list.change(begin(2))),
    ]
    await until_idle()
    assert ledger_list.layout.ledger_ids == [], "nothing is true before it is recorded"
    logs.metadata.puts.open()
    await asyncio.gather(*changes)
    assert list(ledger_list.layout.sealed) == [SealedLedger(1, 3, 9, 5)]
    assert ledger_list.layout.open_id == 2


async def test_what_is_appended_during_a_change_is_not_forgotten(logs, ledger_list):
    await ledger_list.change(begin(1))
    await ledger_list.change(lambda layout: layout.seal(3, 9, 5))
    await ledger_list.change(begin(2))
    logs.metadata.puts.close()
    removal = logs.tasks.spawn("remove", ledger_list.change(lambda layout: layout.remove([1])))
    await until_idle()
    ledger_list.layout.grow(7, 100)
    logs.metadata.puts.open()
    await removal
    assert ledger_list.layout.last == (2, 7)
    assert ledger_list.layout.size_bytes == 100
    assert ledger_list.layout.ledger_ids == [2]


async def test_a_write_that_failed_fences(logs, ledger_list):
    logs.metadata.puts.failing = WriteFailed("disk full")
    with pytest.raises(WriteFailed):
        await ledger_list.change(begin(1))
    logs.metadata.puts.failing = None
    with pytest.raises(Fenced, match="disk full"):
        await ledger_list.change(begin(1))
    assert ledger_list.ownership is LogOwnership.FENCED
    assert (await opened_list(logs)).layout.ledger_ids == []


async def written_unheard(logs, ledger_list, edit):
    """Write what ``edit`` records, as a store does that loses its connection before the answer."""
    draft = ledger_list.layout.copy()
    edit(draft)
    value = ledger_list.context.codec.encode_ledger_list(draft.record())
    return await logs.metadata.put(PATH, value, expected_version=ledger_list.version)


async def test_a_change_whose_answer_was_lost_with_a_connection_is_ours(logs, ledger_list):
    version = await written_unheard(logs, ledger_list, begin(4))
    await ledger_list.change(begin(4))
    assert (ledger_list.layout.open_id, ledger_list.version) == (4, version)
    await ledger_list.change(lambda layout: layout.seal(0, 1, 1))
    assert ledger_list.owned


async def test_what_another_broker_would_write_as_well_is_not_taken_for_ours(logs, ledger_list):
    await ledger_list.change(begin(4))

    def seal(layout):
        layout.seal(0, 1, 1)

    await written_unheard(logs, ledger_list, seal)
    with pytest.raises(Fenced, match="another broker"):
        await ledger_list.change(seal)


async def test_a_change_that_another_broker_went_on_from_is_not_ours(logs, ledger_list):
    await written_unheard(logs, ledger_list, begin(4))
    record = await logs.metadata.get(PATH)
    await logs.metadata.put(PATH, record.value)
    with pytest.raises(Fenced, match="another broker"):
        await ledger_list.change(begin(4))


async def test_cancelling_the_await_does_not_take_the_change_back(logs, ledger_list):
    logs.metadata.puts.close()
    change = logs.tasks.spawn("begin", ledger_list.change(begin(1)))
    await until_idle()
    change.cancel()
    logs.metadata.puts.open()
    await until_idle()
    assert ledger_list.layout.open_id == 1
    await ledger_list.change(lambda layout: layout.seal(0, 1, 1))


async def test_changes_that_wait_when_the_broker_stops_are_refused(logs, ledger_list):
    logs.metadata.puts.close()
    results = asyncio.gather(
        ledger_list.change(begin(1)), ledger_list.change(begin(2)), return_exceptions=True
    )
    await until_idle()
    await logs.tasks.close()
    assert [type(error) for error in await results] == [Fenced, Fenced]


async def test_the_owner_is_who_wrote_last(logs, ledger_list):
    await ledger_list.verify()
    await ledger_list.change(begin(1))
    await ledger_list.verify()
    other = await opened_list(logs)
    with pytest.raises(Fenced):
        await ledger_list.verify()
    await other.verify()
    await logs.metadata.delete(PATH)
    with pytest.raises(Fenced):
        await other.verify()


async def test_a_change_of_our_own_makes_nobody_else_the_owner(logs, ledger_list):
    logs.metadata.puts.close()
    change = logs.tasks.spawn("begin", ledger_list.change(begin(1)))
    await until_idle()
    verified = logs.tasks.spawn("verify", ledger_list.verify())
    await until_idle()
    assert not verified.done()
    logs.metadata.puts.open()
    await asyncio.gather(change, verified)


async def test_a_deleted_list_is_gone(logs, ledger_list):
    await ledger_list.delete_record()
    assert await logs.metadata.get(PATH) is None
    with pytest.raises(Fenced, match="deleted"):
        await ledger_list.change(begin(1))
    assert await logs.metadata.put(PATH, b"", expected_version=ABSENT) == 0
