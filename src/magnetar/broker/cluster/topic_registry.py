"""The topics open here, by bundle: load, unload, delete.

A bundle is opened, unloaded and lost as one. A topic is opened only in a bundle that is served
here, and its bundle is asked for again once it is open: it may have been unloaded meanwhile.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from functools import partial
from itertools import cycle
from typing import Any, Final
from uuid import uuid4

from magnetar.broker.creation import Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.topics.features.shared_rates import SharedRates
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.broker.topics.settings import TopicSettings
from magnetar.broker.topics.topic import Topic
from magnetar.broker.topics.topic_context import TopicContext
from magnetar.clock import Clock
from magnetar.errors import (
    MagnetarError,
    NotAllowed,
    NotOwner,
    StorageError,
    TopicClosed,
    TopicNotFound,
)
from magnetar.loop_iteration import LoopIteration
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.counts import OperationCounts, SnapshotCounts
from magnetar.model.names import TopicName
from magnetar.model.system_topics import heartbeat_broker
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import RecordLog
from magnetar.tasks import Tasks

from .ownership import Ownership
from .served_along import ServedAlong
from .topic_logs import TopicLogs
from .topic_opener import How, TopicOpener

log = logging.getLogger(__name__)

Opening = asyncio.Task[Topic | MagnetarError]
DELETE_AGAIN_S: Final = 0.1
DELETE_AGAIN_S_MAX: Final = 10.0
"""How long to wait before a deletion that a full disk refused is tried again: twice as long each
time."""


class TopicRegistry:
    """Every topic is opened once, by the first to ask, and stays until it is unloaded."""

    def __init__(
        self,
        *,
        resources: Resources,
        ownership: Ownership,
        logs: TopicLogs,
        creation: Creation,
        policies: PolicyService,
        deletions: Deletions,
        settings: TopicSettings,
        clock: Clock,
        iteration: LoopIteration,
        producer_name: Callable[[], str],
        open_records: Callable[[TopicName, str], Awaitable[RecordLog]] | None = None,
        shared_rates: SharedRates | None = None,
        clusters: OtherClusters | None = None,
        entry_size_max: int = 0,
        deleted: Collection[Callable[[TopicName], Awaitable[None]]] = (),
        new_uid: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        """``deleted`` are those of ``TopicOpener``.

        ``open_records`` opens the record logs of transactions, by name and cursor.
        """
        self.loaded: dict[TopicName, Topic] = {}
        self.resting: set[TopicName] = set()  # Unloaded since they were idle, and served here.
        self.loads = OperationCounts()
        self.snapshots = SnapshotCounts() if clusters is None else clusters.snapshots
        self.ownership = ownership
        self.served_along: ServedAlong | None = None
        self._resources = resources
        self._bundles: dict[TopicName, Bundle] = {}  # In which those of ``loaded`` are.
        self._splitting: dict[Bundle, asyncio.Event] = {}  # By part: when its split has ended.
        self._opening: dict[TopicName, Opening] = {}
        self._closing: dict[TopicName, asyncio.Task[None]] = {}
        self._logs = logs
        self._creation = creation
        self._policies = policies
        self._deletions = deletions
        self._settings = settings
        self._clock = clock
        context = self._context = TopicContext(
            settings,
            clock,
            iteration,
            producer_name=producer_name,
            open_records=open_records,
            shared_rates=shared_rates,
            clusters=clusters,
            entry_size_max=entry_size_max,
            new_uid=new_uid,
        )
        self._opener = TopicOpener(
            resources, logs, creation, policies, deletions, context, self._write_failed, deleted
        )
        self._tasks = Tasks("topics")
        self._closed = False
        policies.govern(self.loaded)
        ownership.when_lost(self._bundle_lost)
        ownership.exist_by(resources.has_bundle)

    def ask_coordinators(
        self, take_part: Callable[[TxnId, TopicName, str | None], Awaitable[bool]]
    ) -> None:
        """Let topics ask about transactions as ``TopicContext.take_part`` says."""
        self._context.take_part = take_part

    async def get(self, name: TopicName, *, create: bool, writes: bool = False) -> Topic:
        """The topic, opened if need be; created if it does not exist and ``create`` allows.

        ``writes``: something is going to be appended. Raises NotOwner where its bundle is not
        served here, TopicNotFound, NotAllowed where topics of its domain are switched off,
        TopicClosed while the broker stops, and what opening its log raises.
        """
        topic = self.loaded.get(name)
        if topic is not None:
            if not topic.fenced:
                topic.used_at = self._clock.now()
                self._expect_appends(topic, writes=writes)
                return topic
            self._write_failed(topic)  # Trimming or a rollover failed: open it afresh.
        self._check_open()
        bundle = await self._resources.bundle(name)
        writes = writes and self._logs.begins_early and name.persistent
        with contextlib.ExitStack() as stack:
            begins = writes and not self.ownership.owns(bundle)
            coming = begins and await self.ownership.comes(bundle)
            if coming:
                stack.enter_context(self._logs.begun(name, await self._policies.of(name)))
            await self.ownership.check(bundle, name, coming=coming)
            opened = await self._open_once(name, How(create=create, writes=writes))
            self._expect_appends(opened, writes=writes)  # A consumer may have opened it.
            return opened

    async def look_at(self, name: TopicName) -> Topic:
        """A topic that exists, for an administrator: to look at it is not to use it.

        Its bundle is acquired where nobody serves it. Raises NotOwner, with the address of its
        owner, TopicNotFound, and what ``get`` raises.
        """
        topic = self.loaded.get(name)
        if topic is not None and not topic.fenced:
            return topic
        await self.serve(name)
        return await self.get(name, create=False)

    async def create(self, name: TopicName) -> Topic:
        """Open a topic, created whatever auto-creation says: an administrator asked."""
        await self.serve(name)
        return await self._open_once(name, How(create=True, asked=True))

    def begin_new(self, name: TopicName, bundle: Bundle, *, look: bool) -> Opening | None:
        """Begin to create a topic that ``Creation`` has admitted, or to open what is stored.

        Without ``look`` nothing should be, and is not looked for. None: it is open, or about to be
        opened or closed, or its bundle is not served here.
        """
        busy = name in self.loaded or name in self._opening or name in self._closing
        begins = self.ownership.owns(bundle) and not busy
        return self._begin(name, How(create=True, asked=True, new=not look)) if begins else None

    async def serve(self, name: TopicName) -> None:
        """Serve the bundle of a topic where no broker does. Raises NotOwner where another does."""
        self._check_open()
        await self._serve(await self._resources.bundle(name), name)

    async def _serve(self, bundle: Bundle, asked: TopicName | Bundle) -> None:
        """Serve a bundle where no broker does. Raises NotOwner, which names what was asked for."""
        owner = await self.ownership.acquire(bundle)
        if owner is not self.ownership.own:
            raise self.ownership.elsewhere(asked, owner)

    async def unload_bundle(self, bundle: Bundle, to: BrokerAddress | None = None) -> None:
        """Close the topics of a bundle and serve it no more; nothing where it is not served here.

        ``to`` is the broker that has it next, of which clients are told; without one, the broker
        that its load manager chooses, where it has any.
        """
        while (split := self._splitting.get(bundle)) is not None:
            await split.wait()
        if to is None:
            to = await self.ownership.successor(bundle)
        to = None if to == self.ownership.own else to
        await self.ownership.unload(bundle, partial(self._close_bundle, to=to), to)

    async def leave_to(self, others: Sequence[BrokerAddress]) -> None:
        """Hand the bundles to other brokers, one after the other; the rest is served meanwhile."""
        self.ownership.leave_to(others)
        for bundle, to in zip(self.ownership.bundles, cycle(others), strict=False):
            own = heartbeat_broker(bundle.namespace) is not None  # Of use to no other.
            await self.unload_bundle(bundle, None if own else to)

    async def split_bundle(
        self, bundle: Bundle, parts: Sequence[Bundle], stored: Callable[[], Awaitable[None]]
    ) -> None:
        """Serve the parts of a bundle instead, whose topics stay open. Raises NotOwner.

        The parts are acquired before ``stored`` says that they are bundles, and the whole is
        released after it, so that no other broker can have a part. Who unloads a part waits until
        its topics are known to be in it.
        """
        ended = asyncio.Event()
        self._splitting.update(dict.fromkeys(parts, ended))
        try:
            await self._serve(bundle, bundle)
            await asyncio.gather(*(self._serve(part, part) for part in parts))
            await stored()
            for name in self._loaded_in(bundle):
                self._bundles[name] = next(part for part in parts if part.holds(name))
        finally:
            ended.set()
            for part in [each for each in parts if self._splitting.get(each) is ended]:
                del self._splitting[part]
        await self.ownership.unload(bundle, self._close_bundle)

    async def unload(self, name: TopicName) -> None:
        """Close a topic; clients come back and it is opened again. Raises TopicNotFound."""
        topic = self.loaded.get(name)
        if topic is None:
            raise TopicNotFound(f"Topic {name} not found")
        await asyncio.shield(self._close(topic, topic.close()))

    async def unload_if_idle(self, topic: Topic) -> None:
        """Unload a topic that has been idle for long, and is none the worse for it.

        The next one to ask for it opens it again. Raises what the stores raise.
        """
        after_s, now = self._settings.unload_idle_after_s, self._clock.now()
        if not topic.idle:
            topic.used_at = now
        used_at = topic.used_at
        if not after_s or now - used_at < after_s or not await topic.prepare_for_rest():
            return
        if topic.idle and topic.used_at == used_at and self.loaded.get(topic.name) is topic:
            log.info("topic.unloaded topic=%s idle_s=%d", topic.name, now - used_at)
            self.resting.add(topic.name)
            await asyncio.shield(self._close(topic, topic.close()))

    async def delete_if_unused(self, topic: Topic) -> None:
        """Delete a topic that was idle for as long as its policies let it be.

        Raises what the stores raise.
        """
        stored, now = topic.stored, self._clock.now()
        if not topic.idle:
            topic.used_at = now
        unused_max_s = None if stored is None else stored.unused_max_s
        if unused_max_s is not None and now - topic.used_at >= unused_max_s:
            log.info("topic.unused topic=%s idle_s=%d", topic.name, now - topic.used_at)
            await self.delete(topic.name)

    async def delete(self, name: TopicName, *, force: bool = False) -> None:
        """Delete a topic and its subscriptions.

        Raises TopicNotFound; NotAllowed while clients are connected, unless forced; and what the
        metadata store raises: then nothing was deleted. A deletion that was begun is told as done:
        nobody finds the topic any more, and where a full disk keeps it from being finished, that is
        tried again until it is.
        """
        topic = await self.get(name, create=False)
        if topic.busy and not force:
            raise NotAllowed(f"Topic has {topic.busy} connected producers/consumers")
        await asyncio.shield(self._close(topic, self._delete(topic)))

    async def finish_deletions(self) -> None:
        """Finish what an earlier process began. What fails is tried again when it is opened.

        What another broker serves, it finishes itself.
        """
        for name in await self._deletions.begun():
            try:
                await self.serve(name)
                await self._opener.finish_deletion(name)
            except NotOwner:
                continue
            except MagnetarError as error:
                log.warning("topic.not_deleted topic=%s error=%s", name, error)
            else:
                log.info("topic.deleted topic=%s: an earlier process had begun to", name)

    async def _delete(self, topic: Topic) -> None:
        if topic.stored is None:
            await topic.delete()
            await self._opener.forget(topic.name)
            return
        try:
            await self._deletions.begin(topic.name)
        except MagnetarError:
            await topic.close()  # Nothing was deleted; its clients come back.
            raise
        try:
            await topic.delete()
            await self._opener.end_deletion(topic.name)
        except MagnetarError as error:
            log.warning("topic.not_deleted topic=%s error=%s: it is tried again", topic.name, error)
            self._tasks.spawn(f"delete {topic.name}", self._keep_deleting(topic.name))

    async def _keep_deleting(self, name: TopicName) -> None:
        """Finish a deletion that was begun; an open of the topic meanwhile may do it first."""
        pause_s, begun = DELETE_AGAIN_S, True
        while begun:
            await self._clock.sleep(pause_s)
            pause_s = min(2 * pause_s, DELETE_AGAIN_S_MAX)
            try:
                with contextlib.suppress(TopicNotFound):
                    await self.get(name, create=False)
                begun = await self._deletions.has_begun(name)
            except NotOwner:
                return  # Its owner finishes it.
            except MagnetarError:
                continue

    async def close(self) -> None:
        """Close every topic: everything answered is durable, every cursor saved."""
        self._closed = True
        if self.served_along is not None:
            await self.served_along.close()
        if self._opening:
            await asyncio.wait(list(self._opening.values()))
        for topic in list(self.loaded.values()):
            self._close(topic, topic.close())
        if self._closing:
            await asyncio.wait(list(self._closing.values()))  # Their failures are logged.
        for bundle in self.ownership.bundles:
            await self.ownership.unload(bundle, self._close_bundle)
        self.ownership.close()
        await self._tasks.close()

    async def _close_bundle(self, bundle: Bundle, to: BrokerAddress | None = None) -> None:
        """Close the topics of a bundle that is owned no more, those too that are being opened."""
        self.resting = {name for name in self.resting if not bundle.holds(name)}
        if self.served_along is not None:
            await self.served_along.close_bundle(bundle)
        opening = [task for name, task in self._opening.items() if bundle.holds(name)]
        if opening:
            await asyncio.wait(opening)  # They find that the bundle is not served, and fail.
        for name in self._loaded_in(bundle):
            self._close(self.loaded[name], self.loaded[name].close(to))
        closing = [task for name, task in self._closing.items() if bundle.holds(name)]
        if closing:
            await asyncio.wait(closing)  # Their failures are logged.

    def _bundle_lost(self, bundle: Bundle) -> Awaitable[None]:
        """Answer nothing more for the topics of a bundle that another broker may serve by now."""
        for name in self._loaded_in(bundle):
            self.loaded[name].lose()
        if self.served_along is not None:
            self.served_along.lose(bundle)
        return self._close_bundle(bundle)

    def by_bundle(self) -> dict[Bundle, list[Topic]]:
        """The topics that are open, by their bundles."""
        found: dict[Bundle, list[Topic]] = {}
        for name, bundle in self._bundles.items():
            if (topic := self.loaded.get(name)) is not None:
                found.setdefault(bundle, []).append(topic)
        return found

    def _loaded_in(self, bundle: Bundle) -> list[TopicName]:
        return [name for name, its in self._bundles.items() if its == bundle]

    async def _open_once(self, name: TopicName, how: How) -> Topic:
        """The topic, once no open or close is under way; opened if it is not."""
        while (busy := self._closing.get(name) or self._opening.get(name)) is not None:
            await asyncio.wait([busy])  # It may have failed where this succeeds.
        if (topic := self.loaded.get(name)) is not None:
            return topic
        opened = await asyncio.shield(self._begin(name, how))
        if isinstance(opened, MagnetarError):
            raise opened
        return opened

    def _begin(self, name: TopicName, how: How) -> Opening:
        self._check_open()
        # The task is the registry's: a client that gives up must not leave half a topic.
        opening = self._tasks.spawn(f"open {name}", self._open(name, how))
        self._opening[name] = opening
        opening.add_done_callback(lambda _: self._opening.pop(name, None))
        return opening

    async def _add(self, topic: Topic) -> None:
        """Keep a topic that was opened. Raises NotOwner where its bundle is not served any more."""
        name = topic.name
        bundle = await self._resources.bundle(name)
        try:
            self.ownership.check_kept(bundle, name)
        except NotOwner:
            await topic.close()
            raise
        assert name not in self.loaded, f"{name} is opened by one task at a time"
        self.loaded[name] = topic
        self._bundles[name] = bundle
        self.resting.discard(name)

    async def _open(self, name: TopicName, how: How) -> Topic | MagnetarError:
        """Return errors to the caller of ``get``; log those of the storage as well."""
        try:
            self._settings.check_domain(name)
            self.ownership.check_kept(await self._resources.bundle(name), name)  # It has waited.
            with self.loads.counted(self._clock.now):
                topic = await self._opener.open(name, how)
            await self._add(topic)
        except StorageError as error:
            log.error("topic.not_opened topic=%s error=%s", name, error)  # noqa: TRY400 - it says where
            return error
        except MagnetarError as error:
            return error
        return topic

    def _expect_appends(self, topic: Topic, *, writes: bool) -> None:
        if writes and self._logs.begins_early and topic.stored is not None:
            topic.stored.expect_appends()

    def _check_open(self) -> None:
        if self._closed:
            raise TopicClosed("The broker is stopping")

    def _close(self, topic: Topic, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Close a topic. Requests for it wait meanwhile, and open it again."""
        name = topic.name
        closing = self._tasks.spawn(f"close {name}", work)
        self._closing[name] = closing
        closing.add_done_callback(lambda _: self._closing.pop(name, None))
        self.loaded.pop(name, None)
        self._bundles.pop(name, None)
        if not name.persistent:
            self._creation.closed(name)
        return closing

    def _write_failed(self, topic: Topic) -> None:
        if self.loaded.get(topic.name) is topic:
            self._close(topic, topic.close())
