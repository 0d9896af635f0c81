"""Sends dead letters back to where they came from, at least once, partition by partition.

A letter is acknowledged when its copy is durable. Between the two it is in both topics: who stops
there and starts again publishes it twice.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.subscriptions.subscription import Subscription
from magnetar.broker.topics.topic import StoredTopic, Topic
from magnetar.clock import Clock
from magnetar.errors import MagnetarError, TopicClosed
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.process_status import ProcessStatus
from magnetar.wire.schemas import version_bytes, version_number

from .entries import Slices, entries_from, unpacked
from .letters import EntryLetters, Letter, letters_of, without
from .publishing import Publisher
from .redrive_progress import Progress, SourceProgress
from .wanted import Wanted

log = logging.getLogger(__name__)

COUNT_MAX: Final = 100_000
"""Letters of one redrive."""
GROUP_MAX: Final = 100
"""Letters that are published together, and then acknowledged; a tenth of a second's at most."""
GROUP_BYTES_MAX: Final = 1024 * 1024
"""Bytes of their entries, or one entry."""
TARGETS_MAX: Final = 64
"""Topics that one redrive publishes to; letters for others stay."""

Resolved = Callable[[TopicName, str], Awaitable[TopicName]]
"""The topic that takes a letter for a topic, by its key, or one of its partitions.

Raises MagnetarError where it is not there, or may not be published to.
"""
Opened = Callable[[TopicName], Awaitable[Topic]]


@dataclass(frozen=True, slots=True)
class RedriveOrder:
    """What is to be sent back of one topic, or partition."""

    topic: StoredTopic
    subscription: Subscription | None  # None: all that is stored is copied, and stays.
    wanted: Wanted
    to: TopicName | None


@dataclass(frozen=True, slots=True)
class RedriveOrders:
    """What is to be sent back of a topic, or of one partition after the other."""

    sources: Sequence[TopicName]
    order: Callable[[TopicName], Awaitable[RedriveOrder | None]]
    """Opens a source when its turn comes; None: nothing of it is meant. Raises MagnetarError."""
    count: int
    rate: int  # Letters in a second; 0 for no limit.
    partitioned: bool = False


async def planned(
    order: RedriveOrder, count: int, progress: Progress, clock: Clock
) -> AsyncIterator[EntryLetters]:
    """The letters to be sent back, entry by entry, at most ``count``."""
    log, slices, left = order.topic.log, Slices(clock), count
    progress.complete = False
    start = log.first if order.subscription is None else order.subscription.mark
    end = log.end
    async for position, entry in entries_from(log, start, end):
        pending: list[int] | bool = True
        if order.subscription is not None:
            pending = log.left(order.subscription, position)
            if not pending:
                continue
        progress.entries += 1
        messages = await unpacked(position, entry, slices)
        found = letters_of(
            position, entry, messages, pending=pending, wanted=order.wanted, to=order.to
        )
        found.left += len(found.letters[left:])
        found.letters = found.letters[:left]
        left -= len(found.letters)
        yield found
        if not left:
            return
    progress.complete = True


class Redrive:
    """One redrive under way."""

    def __init__(
        self,
        orders: RedriveOrders,
        clock: Clock,
        *,
        resolve: Resolved,
        open_topic: Opened,
        is_open: Callable[[StoredTopic], bool],
        registry: SchemaRegistry,
        schemas: TopicSchemas,
    ) -> None:
        self.progress = Progress(began_ms=clock.wall_ms())
        if orders.partitioned:
            self.progress.sources = {name: SourceProgress() for name in orders.sources}
        self._orders = orders
        self._clock = clock
        self._resolve = resolve
        self._open = open_topic
        self._is_open = is_open
        self._registry = registry
        self._schemas = schemas
        self._publishers: dict[TopicName, Publisher] = {}
        self._versions: dict[tuple[TopicName, bytes], bytes | None] = {}
        self._refused: dict[TopicName, str] = {}
        self._paid_until = clock.now()

    async def run(self) -> None:
        """Return when it is done, or failed; ``progress`` tells. Cancelled, it has stopped."""
        progress = self.progress
        try:
            await self._move_all()
            progress.status = ProcessStatus.SUCCESS
        except MagnetarError as error:
            progress.status, progress.error = ProcessStatus.ERROR, progress.said(error)
        except Exception as error:
            log.exception("redrive.defect topics=%s", ",".join(map(str, self._orders.sources)))
            progress.status, progress.error = ProcessStatus.ERROR, f"A defect of ours: {error!r}"
        finally:
            if progress.status is ProcessStatus.RUNNING:
                progress.status, progress.error = ProcessStatus.ERROR, "It was stopped"
            for each in progress.sources.values():
                if each.status is ProcessStatus.RUNNING:
                    each.status = progress.status
            progress.ended_ms = self._clock.wall_ms()
            for publisher in self._publishers.values():
                publisher.detach()

    async def _move_all(self) -> None:
        left, progress = self._orders.count, self.progress
        progress.complete = True
        for name in self._orders.sources:
            source = progress.sources.get(name, SourceProgress())
            source.status = ProcessStatus.RUNNING
            order = await self._orders.order(name)
            if order is not None:
                left -= await self._move_source(order, left, source)
            source.status = ProcessStatus.SUCCESS
            if not progress.complete:
                return

    async def _move_source(self, order: RedriveOrder, count: int, source: SourceProgress) -> int:
        """Return how many letters were meant."""
        rate, planned_count = self._orders.rate, 0
        most = min(GROUP_MAX, max(rate // 10, 1)) if rate else GROUP_MAX
        group: list[EntryLetters] = []
        length, size = 0, 0
        async for found in planned(order, count, self.progress, self._clock):
            planned_count += len(found.letters)
            group.append(found)
            length += max(len(found.letters), 1)
            size += sum(len(each.entry) for each in found.letters)
            if length >= most or size >= GROUP_BYTES_MAX:
                await self._move(order, group, source)
                group, length, size = [], 0, 0
        await self._move(order, group, source)
        return planned_count

    async def _move(
        self, order: RedriveOrder, group: list[EntryLetters], source: SourceProgress
    ) -> None:
        """Publish copies, and acknowledge those that are durable. Raises what publishing met."""
        if not self._is_open(order.topic):  # What is acknowledged in it would be forgotten.
            raise TopicClosed("the topic was closed meanwhile: start again for the rest")
        chosen: dict[TopicName, list[tuple[EntryLetters, Letter]]] = {}
        for found in group:
            for letter in list(found.letters):
                target = await self._target(order, letter)
                if isinstance(target, str):
                    found.letters.remove(letter)
                    found.skipped.append(target)
                else:
                    chosen.setdefault(target, []).append((found, letter))
            for reason in found.skipped:
                self.progress.skip(reason)
        failure: MagnetarError | None = None
        for target, letters in chosen.items():
            before = self.progress.messages
            failure = await self._publish(order, target, letters) or failure
            source.messages += self.progress.messages - before
        if order.subscription is not None:
            self._acknowledge(order.topic.log, order.subscription, group)
        if failure is not None:
            raise failure
        await self._keep_to_rate(sum(map(len, chosen.values())))

    async def _target(self, order: RedriveOrder, letter: Letter) -> TopicName | str:
        """Where a letter goes, or why it stays."""
        known = self._refused.get(letter.target)
        if known is not None:
            return known
        try:
            target = await self._resolve(letter.target, letter.key)
            if target not in self._publishers:
                if len(self._publishers) >= TARGETS_MAX:
                    return f"it goes to one topic more than {TARGETS_MAX}: start again for those"
                self._publishers[target] = await Publisher.attach(
                    await self._open(target), self._clock
                )
            await self._version(order, target, letter)
        except MagnetarError as error:
            self._refused[letter.target] = f"{letter.target}: {error}"
            return self._refused[letter.target]
        return target

    async def _version(
        self, order: RedriveOrder, target: TopicName, letter: Letter
    ) -> bytes | None:
        """The version that the letter's schema has where it goes. Raises IncompatibleSchema."""
        sent = letter.message.schema_version or b""
        place = target, sent
        if place not in self._versions:
            schema = None
            if len(sent) == 8:
                source = order.topic.name
                schema = (await self._registry.version(source, version_number(sent))).schema
            number = await self._schemas.of_producer(target, schema)
            self._versions[place] = version_bytes(number) or None
        return self._versions[place]

    async def _publish(
        self, order: RedriveOrder, target: TopicName, letters: list[tuple[EntryLetters, Letter]]
    ) -> MagnetarError | None:
        """Publish to one topic, in order; what was refused is no letter of its entry any more."""
        publisher, now_ms = self._publishers[target], self._clock.wall_ms()
        sequences = [publisher.next_sequence_id() for _ in letters]
        copies = [
            letter.copied(
                publisher.name, sequence, now_ms, await self._version(order, target, letter)
            )
            for sequence, (_, letter) in zip(sequences, letters, strict=True)
        ]
        failure = None
        outcomes = await publisher.publish(sequences, copies)
        for outcome, (found, letter) in zip(outcomes, letters, strict=True):
            if isinstance(outcome, MagnetarError):
                failure = outcome
                found.letters.remove(letter)
                found.left += 1
            else:
                self.progress.messages += 1
                self.progress.targets[str(target)] += 1
        return failure

    @staticmethod
    def _acknowledge(log: TopicLog, subscription: Subscription, group: list[EntryLetters]) -> None:
        whole = [each.position for each in group if each.letters and each.whole]
        parts: list[tuple[Position, list[int]]] = []
        for each in group:
            if each.letters and not each.whole:
                moved = [letter.message.batch_index for letter in each.letters]
                pending = log.left(subscription, each.position)
                size = each.letters[0].message.batch_size
                parts.append((each.position, without(pending, moved, size)))
        log.take(subscription, whole, parts)

    async def _keep_to_rate(self, count: int) -> None:
        if self._orders.rate and count:
            now = self._clock.now()
            self._paid_until = max(self._paid_until, now) + count / self._orders.rate
            await self._clock.sleep(self._paid_until - now)
