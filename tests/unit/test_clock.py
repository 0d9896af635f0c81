"""The machine's clock, as the broker asks for it."""

import time

from magnetar.clock import SystemClock


async def test_it_goes_forward_and_waits():
    clock = SystemClock()
    before = clock.now()
    await clock.sleep(0.01)
    assert clock.now() - before >= 0.009


def test_wall_time_is_in_milliseconds():
    assert abs(SystemClock().wall_ms() - time.time() * 1000) < 1000
