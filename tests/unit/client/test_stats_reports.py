"""A line of statistics for each interval."""

import asyncio
import logging

from support.clock import ManualClock

from magnetar.client.statistics import ConsumerStats
from magnetar.client.stats_reports import report


async def test_each_interval_ends_with_a_line(caplog):
    clock, ended = ManualClock(), []

    def end_interval():
        ended.append(clock.now())
        return ConsumerStats(
            messages_received=len(ended),
            bytes_received=0,
            acks_sent=0,
            messages_queued=0,
            messages_per_s=0.0,
            bytes_per_s=0.0,
        )

    with caplog.at_level(logging.INFO, "magnetar.client.stats_reports"):
        work = asyncio.ensure_future(
            report(end_interval, "consumer.stats topic=t", clock=clock, interval_s=60)
        )
        for _ in range(2):
            await clock.until_asleep()
            await clock.advance(60)
        work.cancel()
    assert ended == [1060.0, 1120.0]
    assert [record.message.split(" bytes")[0] for record in caplog.records] == [
        "consumer.stats topic=t messages_received=1",
        "consumer.stats topic=t messages_received=2",
    ]
