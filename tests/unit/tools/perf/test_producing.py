import asyncio

from support.clock import ManualClock

from magnetar.client.client import Client
from magnetar.testing.local_broker import LocalBroker
from magnetar.tools.perf.producing import _Messages, _send
from magnetar.tools.perf.running import Load, Run
from magnetar.tools.perf.statistics import produced

GIVEN = {"size": 10, "payload_file": None, "keys": None, "delay": 0}


async def test_a_rate_is_kept():
    clock = ManualClock()
    load = Load(Run(0, 0, 1, 0, None, produced, "sent"), clock)
    async with LocalBroker() as broker, Client(broker.service_url) as client:
        producer = await client.create_producer("rate")
        sending = asyncio.create_task(_send(producer, 200, _Messages(GIVEN), load))
        await clock.advance(0.502)
        load.stop.set()
        await clock.advance(0.1)
        await sending
    assert load.statistics.next_interval(clock.now()).messages == 101  # The first at once.
