"""Whether one topic deduplicates: switched on and off by its policies, and its cursor with it."""

import asyncio
import logging

from magnetar.broker.topics.features.deduplication import CURSOR, Deduplication
from magnetar.broker.topics.publishing.topic_producers import TopicProducers
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import MagnetarError
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)


class TopicDeduplication:
    """Made for topics that deduplicate, or have the cursor of when they did."""

    def __init__(
        self,
        state: StoredTopicState,
        writer: TopicWriter,
        producers: TopicProducers,
    ) -> None:
        self.active: Deduplication | None = None
        """What deduplicates; None while it is switched off."""
        self._state = state
        self._topic = state.name
        self._ledger = state.ledger
        self._writer = writer
        self._producers = producers
        self._tasks = Tasks(f"deduplication of {state.name}")
        self._settling: asyncio.Task[MagnetarError | None] | None = None

    def apply(self) -> None:
        """Deduplicate from the next send on, or no longer."""
        wanted = self._state.policies.deduplication
        if self.active is not None and not wanted:
            self._writer.observers = tuple(
                each for each in self._writer.observers if each is not self.active
            )
            self.active = None
        elif self.active is None and wanted:
            self.active = Deduplication(self._state, self._producers.attached)
            # Last: it is to remember nothing that others refuse.
            self._writer.observers = (*self._writer.observers, self.active)
        self._settle()

    async def settled(self) -> None:
        """Return when what was stored before is known. Raises what the stores raise."""
        if self._settling is not None:
            error = await asyncio.shield(self._settling)
            if error is not None:
                raise error

    async def maintain(self) -> None:
        """Save sequence ids if it is time. Raises what the stores raise."""
        self._settle()
        await self.settled()
        if self.active is not None:
            await self.active.maintain()

    def snapshot(self) -> None:
        """Leave little to be learned when the topic is loaded again; the log saves it.

        Without any subscription the cursor alone keeps what is stored, and is left where it is.
        """
        if self.active is not None and len(self._ledger.cursors) > 1:
            self.active.snapshot()

    async def close(self) -> None:
        self.snapshot()
        await self._tasks.close()

    def _settle(self) -> None:
        if self._settling is None and not self._is_settled():
            self._settling = self._tasks.spawn("settle", self._work())

    def _is_settled(self) -> bool:
        wanted = self.active
        return wanted.started if wanted is not None else CURSOR not in self._ledger.cursors

    async def _work(self) -> MagnetarError | None:
        """Open or delete the cursor. An error is returned to whoever waits, and logged."""
        try:
            while not self._is_settled():
                wanted = self.active
                if wanted is not None:
                    await wanted.start()
                else:
                    await self._ledger.delete_cursor(CURSOR)
        except MagnetarError as error:
            log.warning("deduplication.not_settled topic=%s error=%s", self._topic, error)
            return error
        finally:
            self._settling = None
        return None
