"""Finds the topics of a pattern or a list, at first and as they come and go."""

import asyncio
import logging
from collections.abc import Callable, Collection

from magnetar.client.connections.topic_list_watch import TopicListWatch
from magnetar.client.context import ClientContext
from magnetar.errors import MagnetarError
from magnetar.model.names import TopicName
from magnetar.model.subscriptions import RegexSubscriptionMode

from .topic_set import TopicSet
from .topics_pattern import TopicsPattern

log = logging.getLogger(__name__)


class PatternDiscovery:
    """Keeps a set of topics as a pattern has it.

    A broker that can tells what changes; besides, all topics are listed every ``refresh_s``
    seconds (0 for never). Brokers tell of persistent topics only.
    """

    def __init__(
        self,
        pattern: TopicsPattern,
        context: ClientContext,
        refresh_s: float,
        left_out: Callable[[TopicName], bool] | None = None,
    ) -> None:
        """``left_out`` says which topics are not taken in though they match."""
        self._pattern = pattern
        self._context = context
        self._refresh_s = refresh_s
        self._left_out = left_out
        self._names: set[str] = set()  # Those that match, partitions one by one.
        self._changed = asyncio.Event()
        self._watch: TopicListWatch | None = None
        simple = pattern.for_broker
        if simple is not None and pattern.mode is not RegexSubscriptionMode.NON_PERSISTENT_ONLY:
            self._watch = TopicListWatch(
                next(context.ids), str(pattern.namespace), simple, self._changed.set
            )

    async def find(self) -> set[TopicName]:
        """The topics that match now. Raises TimedOut or the broker's error."""
        pattern = self._pattern
        listed = await self._context.lookup.topics(
            str(pattern.namespace), pattern.mode, pattern.for_broker
        )
        self._names = set()
        self._apply(dict.fromkeys(listed, True))
        return self._topics()

    async def follow(self, topics: TopicSet) -> None:
        """Add and remove topics, until cancelled."""
        backoff = self._context.backoff()
        try:
            while True:
                try:
                    await self._begin_watch()
                    await topics.become(await self.find())
                    if await self._until_due(topics):
                        backoff.reset()
                        continue
                except MagnetarError as error:
                    log.info(
                        "consumer.topics_unknown pattern=%s error=%s", self._pattern.text, error
                    )
                await self._context.clock.sleep(backoff.next_s())
        finally:
            if self._watch is not None:
                self._watch.end()

    async def _begin_watch(self) -> None:
        """Watch, if no watch stands. What comes from now on is told, or will be in the list."""
        if self._watch is None or not self._watch.stale:
            return
        try:
            await self._context.lookup.watch_topics(self._watch)
        except MagnetarError as error:
            if error.retriable:
                raise
            log.info("consumer.topics_unwatched pattern=%s error=%s", self._pattern.text, error)
            self._watch = None

    async def _until_due(self, topics: TopicSet) -> bool:
        """Apply what is told until it is time to list again; False: because the watch is lost."""
        due = asyncio.get_running_loop().time() + self._refresh_s if self._refresh_s else None
        while True:
            try:
                async with asyncio.timeout_at(due):
                    await self._changed.wait()
            except TimeoutError:
                return True
            self._changed.clear()
            if self._watch is None or self._watch.stale:
                return False
            self._apply(self._watch.take())
            await topics.become(self._topics())

    def _apply(self, told: dict[str, bool]) -> None:
        for name, here in told.items():
            if not here:
                self._names.discard(name)
            elif self._pattern.matches(name):
                self._names.add(name)

    def _topics(self) -> set[TopicName]:
        found = {TopicName.parse(name).partitioned_name for name in self._names}
        return found if self._left_out is None else {t for t in found if not self._left_out(t)}


async def add_missing(
    wanted: Collection[TopicName], topics: TopicSet, context: ClientContext, refresh_s: float
) -> None:
    """Add the topics of a list as they appear, until cancelled."""
    while True:
        await context.clock.sleep(refresh_s)
        await topics.add(wanted)
