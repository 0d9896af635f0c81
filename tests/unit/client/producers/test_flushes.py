import asyncio

from magnetar.client.producers.flushes import Flushes
from magnetar.errors import NotAllowed


async def test_a_flush_ends_with_the_last_send_that_it_waits_for_and_has_their_first_error():
    flushes = Flushes(asyncio.get_running_loop())
    early, late = flushes.begin(), flushes.begin()
    first, second = NotAllowed("first"), NotAllowed("second")
    flushes.failed(1, first)
    early.until, late.until = 1, 3
    flushes.failed(2, second)
    flushes.settled(0)
    assert not early.settled.done()
    flushes.settled(2)
    assert (early.settled.done(), early.error) == (True, first)
    assert (late.settled.done(), late.error) == (False, first)
    late.settled.cancel()
    flushes.settled(3)
    flushes.settled(4)
