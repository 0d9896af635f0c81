"""Ends the intervals of statistics, and writes a line for each."""

import logging
from collections.abc import Callable

from magnetar.clock import Clock

from .statistics import ConsumerStats, ProducerStats, line

log = logging.getLogger(__name__)


async def report(
    end_interval: Callable[[], ProducerStats | ConsumerStats],
    who: str,
    *,
    clock: Clock,
    interval_s: float,
) -> None:
    """For ever; ``who`` begins each line, as ``producer.stats topic=... name=...``."""
    while True:
        await clock.sleep(interval_s)
        log.info("%s %s", who, line(end_interval()))
