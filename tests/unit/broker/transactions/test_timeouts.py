import pytest
from support.clock import ManualClock

from magnetar.broker.transactions.timeouts import TICK_S, Timeouts
from magnetar.model.txn_id import TxnId
from magnetar.tasks import Tasks


@pytest.fixture
async def tasks():
    made = Tasks("test")
    yield made
    await made.close()


async def test_each_time_is_over_once_and_less_than_a_tick_late(tasks):
    clock, over = ManualClock(), []
    timeouts = Timeouts(clock, tasks, lambda txn_id: over.append((clock.now(), txn_id)))
    for number, in_s in enumerate([0.25, 1.5, 0.0, 1.5]):
        timeouts.add(TxnId(0, number), in_s)
    timeouts.discard(TxnId(0, 3))
    await clock.advance(5)
    assert sorted(txn_id.least_bits for _, txn_id in over) == [0, 1, 2]
    for now, (_, number) in over:
        late_s = now - 1000 - [0.25, 1.5, 0.0][number]
        assert 0 <= late_s <= 2 * TICK_S


async def test_nothing_runs_while_there_is_no_transaction(tasks):
    clock = ManualClock()
    timeouts = Timeouts(clock, tasks, lambda _: None)
    assert len(tasks) == 0
    timeouts.add(TxnId(0, 1), 60)
    timeouts.discard(TxnId(0, 1))
    await clock.advance(2 * TICK_S)
    assert len(tasks) == 0
    timeouts.add(TxnId(0, 2), 60)
    assert len(tasks) == 1
