"""Keeps the rates that stats show: looks at every topic's totals once a minute."""

from typing import Final

from magnetar.broker.topics.registry import TopicRegistry
from magnetar.broker.topics.topic_stats import topic_stats
from magnetar.clock import Clock
from magnetar.model.stats import RateBook

INTERVAL_S: Final = 60.0  # As Pulsar: its rates are those of the last whole minute.
TOPICS_PER_TURN: Final = 50  # Looked at before others get their turn.


async def keep_rates(book: RateBook, registry: TopicRegistry, clock: Clock) -> None:
    """Go on for ever. A topic that was loaded since the last round counts from then."""
    last = clock.now()
    while True:
        await clock.sleep(INTERVAL_S)
        now = clock.now()
        for count, topic in enumerate(list(registry.loaded.values()), start=1):
            book.tick(str(topic.name), topic_stats(topic), now, since=last)
            if count % TOPICS_PER_TURN == 0:
                await clock.sleep(0)
        book.keep({str(name) for name in registry.loaded})
        last = now
