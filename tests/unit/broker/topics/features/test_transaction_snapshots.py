import json

import pytest
from unit.storage.managed_ledger.logs import Logs

from magnetar.broker.topics.features import transaction_snapshots
from magnetar.broker.topics.features.transaction_snapshots import TransactionSnapshots
from magnetar.broker.topics.transaction_buffer import TransactionBuffer
from magnetar.errors import Fenced
from magnetar.model.position import EARLIEST, Position
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import open_record_log


@pytest.fixture
async def logs():
    made = Logs()
    yield made
    await made.tasks.close()


async def opened(logs):
    """What a process that opens the topic knows, and up to where."""
    records = await open_record_log(logs.factory(), "snapshots", cursor_name="c")
    snapshots, buffer = TransactionSnapshots(records), TransactionBuffer()
    return snapshots, buffer, await snapshots.restore(buffer)


def aborted(buffer):
    return {
        (ledger, entry)
        for ledger, ranges in buffer.aborted.items()
        for first, last in zip(ranges.starts, ranges.ends, strict=True)
        for entry in range(first, last + 1)
    }


async def test_without_a_snapshot_nothing_is_known(logs):
    _, buffer, upto = await opened(logs)
    assert (upto, buffer.oldest, aborted(buffer)) == (EARLIEST, None, set())


async def test_a_snapshot_tells_all_that_was_known(logs):
    snapshots, buffer, _ = await opened(logs)
    buffer.raise_watermark(3, 17)
    buffer.stored(TxnId(3, 18), (5, 6, 7), producer="p", published_ms=9)
    buffer.abort([(5, 1, 2)])
    await snapshots.take(buffer, Position(5, 7), [(5, 1, 2)])
    _, again, upto = await opened(logs)
    assert (upto, aborted(again)) == (Position(5, 7), {(5, 1), (5, 2)})
    assert (again.open, again.low_watermarks) == (buffer.open, {3: 17})


async def test_stretches_side_by_side_are_written_as_one(logs):
    snapshots, buffer, _ = await opened(logs)
    await snapshots.take(buffer, Position(6, 7), [(5, 3, 3), (5, 5, 6), (5, 4, 4), (6, 7, 7)])
    records = [json.loads(each) async for run in snapshots._records.replay() for each in run.data]
    assert [record["aborted"] for record in records] == [[[5, 3, 6], [6, 7, 7]]]


@pytest.mark.parametrize("crash_every", [1, 3, 1000])
async def test_many_snapshots_add_up(logs, monkeypatch, crash_every):
    monkeypatch.setattr(transaction_snapshots, "WHOLE_EVERY", 7)
    monkeypatch.setattr(transaction_snapshots, "ENTRIES_MAX", 4)
    snapshots, buffer, _ = await opened(logs)
    for number in range(40):
        new = [(number, 2 * each, 2 * each) for each in range(number % 6)]
        buffer.abort(new)
        await snapshots.take(buffer, Position(number, 20), new)
        if number % crash_every == 0:
            expected, before = aborted(buffer), snapshots
            snapshots, buffer, upto = await opened(logs)
            assert (upto, aborted(buffer)) == (Position(number, 20), expected)
            assert before is not snapshots
    assert aborted((await opened(logs))[1]) == aborted(buffer)


async def test_old_snapshots_go_when_a_whole_one_is_there(logs, monkeypatch):
    monkeypatch.setattr(transaction_snapshots, "WHOLE_EVERY", 5)
    snapshots, buffer, _ = await opened(logs)
    for number in range(23):
        await snapshots.take(buffer, Position(0, number), [])
        assert snapshots._records.record_count <= 5
    assert (await opened(logs))[2] == Position(0, 22)


async def test_a_snapshot_of_which_the_end_is_missing_counts_for_nothing(logs, monkeypatch):
    monkeypatch.setattr(transaction_snapshots, "WHOLE_EVERY", 1)
    monkeypatch.setattr(transaction_snapshots, "ENTRIES_MAX", 1)
    snapshots, buffer, _ = await opened(logs)
    buffer.abort([(0, 1, 1), (0, 3, 3), (0, 5, 5)])
    await snapshots.take(buffer, Position(0, 6), [(0, 1, 1), (0, 3, 3), (0, 5, 5)])
    records = [record async for run in snapshots._records.replay() for record in run.data]
    buffer.aborted.clear()  # As if all of that had been trimmed.
    monkeypatch.setattr(snapshots._records, "append", lambda _: _fail())
    with pytest.raises(Fenced):
        await snapshots.take(buffer, Position(0, 9), [])
    records_again, _, _ = await opened(logs)
    await records_again._records.append([records[0].replace(b"more", b"whole")])
    _, again, upto = await opened(logs)
    assert (upto, aborted(again)) == (Position(0, 6), {(0, 1), (0, 3), (0, 5)})


async def _fail():
    raise Fenced("no")
