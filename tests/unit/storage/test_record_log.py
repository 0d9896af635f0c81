import pytest
from support.loop import until_idle
from unit.storage.managed_ledger.logs import Logs

from magnetar.errors import Fenced, WriteFailed
from magnetar.model.position import Position
from magnetar.storage.record_log import open_record_log

NAME = "public/default/persistent/__records"


async def opened(logs):
    return await open_record_log(logs.factory(), NAME, cursor_name="mine")


async def replayed(log):
    return [record for run in [run async for run in log.replay()] for record in run.data]


@pytest.fixture
async def logs():
    made = Logs(entries_per_ledger_max=5, ledger_age_min_s=0)
    yield made
    await made.tasks.close()


@pytest.fixture
async def log(logs):
    return await opened(logs)


async def test_a_new_log_has_no_records(log):
    assert await replayed(log) == []
    assert log.record_count == 0


async def test_records_are_answered_with_the_position_of_the_last(log):
    first, second = log.append([b"a", b"b"]), log.append([b"c"])
    assert await second == Position(0, 2)
    assert first.result() == Position(0, 1)


async def test_records_come_back_in_order_over_rollovers(logs, log):
    for number in range(20):
        await log.append([b"%d" % number])
    assert len(logs.ledgers.existing) > 2
    await log.close()
    assert await replayed(await opened(logs)) == [b"%d" % number for number in range(20)]


async def test_what_waits_while_a_ledger_is_begun_is_appended_at_once(logs, log):
    await log.append([b"x"] * 5)
    logs.ledgers.creates.close()
    answers = [log.append([b"%d" % number]) for number in range(4)]
    await until_idle()
    logs.ledgers.creates.open()
    assert [await answer for answer in answers] == [Position(1, number) for number in range(4)]


async def test_a_replay_ends_at_what_was_there_when_it_began(log):
    await log.append([b"a"])
    runs = []
    async for run in log.replay():
        runs.append(run)
        await log.append([b"b"])
    assert [run.data for run in runs] == [[b"a"]]


async def test_trimmed_records_do_not_come_back(logs, log):
    positions = [await log.append([b"%d" % number]) for number in range(12)]
    log.trim(positions[7])
    assert log.record_count == 4
    await log.close()
    again = await opened(logs)
    assert await replayed(again) == [b"8", b"9", b"10", b"11"]
    assert again.trimmed_to == positions[7]
    assert len(logs.ledgers.existing) == 2


async def test_records_are_not_cached(logs, log):
    await log.append([b"a"] * 3)
    assert logs.cache.size_bytes == 0


async def test_a_failed_append_fails_all_behind_it(logs, log):
    logs.ledgers.appends.failing = WriteFailed("no")
    answers = [log.append([b"a"]), log.append([b"b"])]
    for answer in [*answers, log.append([b"c"])]:
        with pytest.raises(Fenced):
            await answer
    logs.ledgers.appends.failing = None
    await log.close()
    assert await replayed(await opened(logs)) == []


async def test_an_owner_that_was_replaced_appends_nothing(logs, log):
    await log.append([b"a"])
    new = await opened(logs)
    with pytest.raises(Fenced):
        await log.append([b"b"])
    assert await replayed(new) == [b"a"]


async def test_who_gives_up_waiting_does_not_take_records_back(logs, log):
    logs.ledgers.answers.close()
    log.append([b"a"]).cancel()
    answer = log.append([b"b"])
    logs.ledgers.answers.open()
    assert await answer == Position(0, 1)
    assert await replayed(log) == [b"a", b"b"]


async def test_a_deleted_log_begins_anew(logs, log):
    await log.append([b"a"])
    await log.delete()
    assert logs.ledgers.existing == set()
    assert await replayed(await opened(logs)) == []
