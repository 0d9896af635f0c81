"""What is stored of a topic: opened as one, or deleted to its end where that was begun."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import NamedTuple

from magnetar.broker.creation import Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.broker.topics.non_persistent_topic import NonPersistentTopic
from magnetar.broker.topics.persistent_topic import PersistentTopic
from magnetar.broker.topics.topic import Topic
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.broker.topics.transaction_logs import delete_logs
from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.names import TopicName
from magnetar.storage.managed_ledger.managed_ledger_factory import NOTHING_FOUND

from .topic_logs import TopicLogs


class How(NamedTuple):
    """How a topic is opened."""

    create: bool  # Where it is not there.
    asked: bool = False  # By an administrator, whatever auto-creation says.
    writes: bool = False  # Something is going to be appended, at once.
    new: bool = False  # It is admitted; nothing should be stored of it, and is not looked for.


@dataclass(frozen=True, slots=True)
class TopicOpener:
    """Opens the topics of one broker. All that it does raises what the stores raise."""

    resources: Resources
    logs: TopicLogs
    creation: Creation
    policies: PolicyService
    deletions: Deletions
    context: TopicContext
    failed: Callable[[Topic], None]
    """Told when a write failed, after which a topic has to be opened afresh."""
    deleted: Collection[Callable[[TopicName], Awaitable[None]]]
    """Remove what others keep for a topic whose log is deleted."""

    async def open(self, name: TopicName, how: How) -> Topic:
        """The topic, for the caller alone. Raises TopicNotFound."""
        return await (self._persistent if name.persistent else self._non_persistent)(name, how)

    async def finish_deletion(self, name: TopicName) -> None:
        """Delete what is left of a topic whose deletion was begun; nothing where none was."""
        if await self.deletions.has_begun(name):
            ledger = await self.logs.open(name, await self.policies.of(name))
            await delete_logs(self.context, name, ledger)
            await ledger.delete()
            await self.end_deletion(name)

    async def end_deletion(self, name: TopicName) -> None:
        """The log of a topic is deleted: remove the rest, and its name."""
        await self.forget(name)
        await self.deletions.end(name)

    async def forget(self, name: TopicName) -> None:
        """Remove what others keep for a topic."""
        for forget in self.deleted:
            await forget(name)

    async def _persistent(self, name: TopicName, how: How) -> Topic:
        if how.new:
            found, policies = NOTHING_FOUND, await self.policies.of(name)
        else:
            found, deleting, policies = await asyncio.gather(
                self.logs.find(name), self.deletions.has_begun(name), self.policies.of(name)
            )
            if deleting:
                await self.finish_deletion(name)
                found, policies = await self.logs.find(name), await self.policies.of(name)
        exists = how.new or found.record is not None
        async with self.creation.topic(name, exists=exists, create=how.create, asked=how.asked):
            ledger = await self.logs.open(name, policies, found, writes=how.writes)
        topic = PersistentTopic(
            name, ledger, context=self.context, policies=policies, failed=self.failed
        )
        try:
            await topic.recover()
        except MagnetarError:
            await topic.close()
            raise
        current = await self.policies.of(name)
        if current is not policies:
            topic.apply(current)
        return topic

    async def _non_persistent(self, name: TopicName, how: How) -> Topic:
        exists = await self.resources.topic_exists(name)
        async with self.creation.topic(name, exists=exists, create=how.create, asked=how.asked):
            policies = await self.policies.of(name)
            self.creation.opened(name)
        return NonPersistentTopic(name, context=self.context, policies=policies)
