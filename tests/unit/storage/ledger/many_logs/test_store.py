"""Two logs that are one store; ``tests/contract`` has what it shares with the others."""

import asyncio

import pytest
from support.many_logs import two_logs
from unit.storage.ledger.local.support import append, everything, run

from magnetar.errors import LedgerFenced, LedgerNotFound
from magnetar.storage.ledger.many_logs import remote
from magnetar.storage.ledger.many_logs.server import REQUESTS_MAX


@pytest.fixture
async def logs(tmp_path):
    async with two_logs(tmp_path) as found:
        yield found


async def test_ids_ascend_over_both(logs):
    ids = [(await logs[number % 2].create()).ledger_id for number in range(6)]
    assert ids == sorted(set(ids))


async def test_a_ledger_of_the_other_is_fenced_read_and_deleted(logs):
    mine, other = logs
    writer = await other.create()
    await append(writer, *run("a", "b", "c"))
    reader = await mine.open(writer.ledger_id)
    assert reader.end.last_entry_id == 2
    assert await everything(reader) == [b"a", b"b", b"c"]
    with pytest.raises(LedgerFenced):
        await append(writer, *run("d"))
    await mine.delete(writer.ledger_id)
    for each in logs:
        with pytest.raises(LedgerNotFound):
            await each.open(writer.ledger_id)


async def test_what_was_under_way_when_it_was_fenced_counts_as_it_was_answered(logs):
    mine, other = logs
    writer = await other.create()
    appended = [asyncio.ensure_future(append(writer, *run(number))) for number in range(50)]
    await asyncio.sleep(0)
    end = (await mine.open(writer.ledger_id)).end
    answers = await asyncio.gather(*appended, return_exceptions=True)
    answered = [each for each in answers if not isinstance(each, LedgerFenced)]
    assert end.last_entry_id == len(answered) - 1


async def test_more_is_asked_at_once_than_is_answered_at_once(logs):
    mine, other = logs
    writers = [await other.create() for _ in range(REQUESTS_MAX + 20)]
    readers = await asyncio.gather(*(mine.open(each.ledger_id) for each in writers))
    assert [each.ledger_id for each in readers] == [each.ledger_id for each in writers]


async def test_a_ledger_that_nobody_created_is_in_no_log(logs):
    with pytest.raises(LedgerNotFound):
        await logs[0].open(99)
    await logs[0].delete(99)


async def test_the_log_that_creates_is_the_one_that_is_checked(logs):
    await logs[0].check()
    await logs[0].close()
    assert logs[0].held(99) is None
    assert remote.AGAIN_S < remote.ANSWER_TIMEOUT_S
