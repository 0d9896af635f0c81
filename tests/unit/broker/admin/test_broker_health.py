import asyncio
import gc

from support.clock import ManualClock

from magnetar.broker.admin.broker_health import LAG_INTERVAL_S, BrokerHealth


async def test_a_loop_that_is_late_is_noted():
    clock = ManualClock()
    health = BrokerHealth(clock)
    task = asyncio.create_task(health.watch_loop())
    await clock.until_asleep()
    clock.move(LAG_INTERVAL_S + 0.4)
    await clock.advance(LAG_INTERVAL_S)
    await clock.advance(LAG_INTERVAL_S)
    task.cancel()
    assert health.loop_lag.count >= 1
    assert 0.4 <= health.loop_lag.quantile_s(1) <= 0.5


async def test_a_garbage_collection_is_noted_as_long_as_the_loop_is_watched():
    clock, others = ManualClock(), list(gc.callbacks)
    health = BrokerHealth(clock)
    task = asyncio.create_task(health.watch_loop())
    await clock.until_asleep()
    before = health.gc_pauses.count
    gc.collect()
    assert health.gc_pauses.count > before
    task.cancel()
    await asyncio.wait([task])
    assert gc.callbacks == others


async def test_the_disk_of_a_folder_and_of_none(tmp_path):
    health = BrokerHealth(ManualClock())
    assert await health.disk() is None
    health.data_directory = tmp_path
    disk = await health.disk()
    assert 0 < disk.free_bytes < disk.total_bytes
    health.data_directory = tmp_path / "gone"
    assert await health.disk() is None


def test_a_process_holds_some_memory():
    assert 10**6 < BrokerHealth.memory_bytes() < 10**11
