"""Sends dead letters back to where they came from, at least once, partition by partition.

A letter is acknowledged when its copy is durable. Between the two it is in both topics: who stops
there and starts again publishes it twice. Topics are known by name alone and asked for anew for
each group of letters, so that a redrive goes on when one of them was closed and opened again.
"""

import logging
from collections.abc import AsyncIterator, Sequence
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import MessageServices
from magnetar.broker.cluster.publishing import publish
from magnetar.broker.topics.log.topic_log import TopicLog
from magnetar.broker.topics.subscriptions.persistent_subscription import PersistentSubscription
from magnetar.broker.topics.topic import storing
from magnetar.errors import ConsumerBusy, MagnetarError, NotAllowed, NotAuthorized
from magnetar.late_dataclass import dataclass
from magnetar.model.hashing import java_string_hash
from magnetar.model.names import TopicName
from magnetar.model.position import Position
from magnetar.model.process_status import ProcessStatus
from magnetar.rest.exchange import Request
from magnetar.wire.schemas import version_bytes, version_number

from .dead_letters import DeadLetter, EntryDeadLetters, dead_letters_of, without
from .entries import READ_BYTES, READ_ENTRIES, TurnTaker, entries_of, unpacked
from .message_filter import MessageFilter
from .redrive_progress import Progress, SourceProgress

log = logging.getLogger(__name__)

COUNT_MAX: Final = 100_000
"""Letters of one redrive."""
GROUP_MAX: Final = 100
"""Letters that are published together, and then acknowledged; a tenth of a second's at most."""
GROUP_BYTES_MAX: Final = 1024 * 1024
"""Bytes of their entries, or one entry."""
TARGETS_MAX: Final = 64
"""Topics that one redrive publishes to; letters for others stay."""


@dataclass(frozen=True, slots=True)
class RedriveOrder:
    """What is to be sent back of a topic, or of its partitions, which are the ``sources``."""

    topic: TopicName
    sources: Sequence[TopicName]
    subscription: str | None  # None: all that is stored is copied, and stays.
    wanted: MessageFilter
    to: TopicName | None
    count: int
    rate: int  # Letters in a second; 0 for no limit.
    force: bool


class Redrive:
    """One redrive, with the rights of who asked for it: it is looked at, or it runs."""

    def __init__(self, order: RedriveOrder, admin: MessageServices, request: Request) -> None:
        self._order = order
        self._admin = admin
        self._request = request
        self._clock = admin.clock
        self.progress = Progress(began_ms=self._clock.wall_ms())
        if order.sources != [order.topic]:
            self.progress.sources = {name: SourceProgress() for name in order.sources}
        self._left = order.count
        self._name = f"redrive-{order.topic}-{self.progress.began_ms}"
        self._partitions: dict[TopicName, int] = {}
        self._refused: dict[TopicName, str] = {}
        self._versions: dict[tuple[TopicName, bytes], bytes | None] = {}
        self._paid_until = self._clock.now()

    async def check(self) -> None:
        """Raise what keeps it from being done, before anything is."""
        for source in self._order.sources:
            await self._opened(source, begins=True)

    async def look(
        self, sample_max: int, deadline: float
    ) -> list[tuple[TopicName, DeadLetter, TopicName]]:
        """Some letters with their source and target; ``progress`` counts all up to ``deadline``."""
        sample: list[tuple[TopicName, DeadLetter, TopicName]] = []
        for source in self._order.sources:
            async for group in self._groups(source):
                for target, letters in (await self._by_target(source, group)).items():
                    self.progress.moved(target, len(letters))
                    sample += [(source, letter, target) for _, letter in letters]
                if self._clock.now() > deadline:
                    self._left = 0
            if not self._left:
                break
        self.progress.complete = self._left > 0
        self.progress.status = ProcessStatus.NOT_RUN
        return sample[:sample_max]

    async def run(self) -> None:
        """Return when it is done, or failed; ``progress`` tells. Cancelled, it has stopped."""
        progress, ended = self.progress, (ProcessStatus.ERROR, "It was stopped")
        try:
            for source in self._order.sources:
                its = progress.sources.get(source, SourceProgress())
                its.status = ProcessStatus.RUNNING
                async for group in self._groups(source):
                    await self._move(source, group, its)
                its.status = ProcessStatus.SUCCESS
                if not self._left:
                    break
            progress.complete = self._left > 0
            ended = ProcessStatus.SUCCESS, ""
        except MagnetarError as error:
            ended = ProcessStatus.ERROR, progress.said(error)
        except Exception as error:
            log.exception("redrive.defect topic=%s", self._order.topic)
            ended = ProcessStatus.ERROR, f"A defect of ours: {error!r}"
        finally:
            progress.end(*ended, self._clock.wall_ms())

    async def _opened(
        self, source: TopicName, *, begins: bool = False
    ) -> tuple[TopicLog, PersistentSubscription | None] | None:
        """A source as it is now; None where it does not have the subscription."""
        topic = storing(await self._admin.owners.access.open(source))
        name = self._order.subscription
        if name is None:
            return topic.log, None
        subscription = topic.subscriptions.get(name)
        if subscription is None or not subscription.durable:
            return None  # This partition has none of these letters.
        if begins and subscription.consumers and not self._order.force:
            raise ConsumerBusy(
                f"Subscription {name} has connected consumers, which may have some of these "
                "letters already: stop them, or send force"
            )
        return topic.log, subscription

    async def _groups(self, source: TopicName) -> AsyncIterator[list[EntryDeadLetters]]:
        """The letters of a source, entry by entry, in groups that are published together."""
        rate, slices = self._order.rate, TurnTaker(self._clock)
        most = min(GROUP_MAX, max(rate // 10, 1)) if rate else GROUP_MAX
        opened = await self._opened(source, begins=True)
        if opened is None:
            return
        at, end = opened[0].first if opened[1] is None else opened[1].mark, opened[0].end
        group: list[EntryDeadLetters] = []
        length, size = 0, 0
        while run := await opened[0].read(at, READ_ENTRIES, READ_BYTES):
            for position, entry in entries_of(run):
                its, subscription = opened
                if position >= end or not self._left:
                    yield group
                    return
                pending = subscription is None or its.pending(subscription, position)
                if not pending:
                    continue
                self.progress.entries += 1
                messages = await unpacked(position, entry, slices)
                found = dead_letters_of(
                    position,
                    entry,
                    messages,
                    pending=pending,
                    wanted=self._order.wanted,
                    to=self._order.to,
                )
                found.left += len(found.letters[self._left :])
                found.letters = found.letters[: self._left]
                self._left -= len(found.letters)
                group.append(found)
                length += max(len(found.letters), 1)
                size += len(entry) * len(found.letters)
                if length >= most or size >= GROUP_BYTES_MAX:
                    yield group
                    group, length, size = [], 0, 0
                    opened = await self._opened(source)
                    if opened is None:
                        return
            at = Position(run.ledger_id, run.last_entry_id + 1)
        yield group

    async def _move(
        self, source: TopicName, group: list[EntryDeadLetters], its: SourceProgress
    ) -> None:
        """Publish copies, and acknowledge those that are durable. Raises what publishing met."""
        failure: MagnetarError | None = None
        count = 0
        for target, letters in (await self._by_target(source, group)).items():
            try:
                messages = [
                    (letter, await self._version(source, target, letter)) for _, letter in letters
                ]
                outcomes = await publish(
                    self._admin.topics,
                    self._clock,
                    target,
                    messages,
                    name=self._name,
                    # A partition that nobody used so far is made; a topic that is missing is not.
                    create=target.partition_index >= 0,
                )
            except MagnetarError as error:  # None of them was published.
                for found, letter in letters:
                    self._refuse(found, letter, f"{letter.target}: {error}")
                continue
            for outcome, (found, letter) in zip(outcomes, letters, strict=True):
                if isinstance(outcome, MagnetarError):
                    failure = outcome
                    found.letters.remove(letter)
                    found.left += 1
                else:
                    self.progress.moved(target)
                    its.messages += 1
            count += len(letters)
        opened = await self._opened(source)
        if opened is not None and opened[1] is not None:
            _acknowledge(opened[0], opened[1], group)
        if failure is not None:
            raise failure
        if self._order.rate and count:
            now = self._clock.now()
            self._paid_until = max(self._paid_until, now) + count / self._order.rate
            await self._clock.sleep(self._paid_until - now)

    async def _by_target(
        self, source: TopicName, group: list[EntryDeadLetters]
    ) -> dict[TopicName, list[tuple[EntryDeadLetters, DeadLetter]]]:
        """The letters by the topic or partition that each goes to; what stays is skipped."""
        chosen: dict[TopicName, list[tuple[EntryDeadLetters, DeadLetter]]] = {}
        for found in group:
            for reason in found.skipped:
                self.progress.skip(reason)
            for letter in list(found.letters):
                if letter.target not in self._partitions and letter.target not in self._refused:
                    await self._find(source, letter.target)
                if (known := self._refused.get(letter.target)) is not None:
                    self._refuse(found, letter, known)
                    continue
                count = self._partitions[letter.target]
                index = java_string_hash(letter.key) % count if count else -1
                target = letter.target if index < 0 else letter.target.partition(index)
                chosen.setdefault(target, []).append((found, letter))
        return chosen

    async def _find(self, source: TopicName, target: TopicName) -> None:
        """Note whether letters can go to a topic, and how many partitions it has."""
        rights = self._admin.authorization
        try:
            if target.domain != "persistent":
                raise NotAllowed(
                    "a non-persistent topic keeps nothing, and the letter would be lost"
                )
            if len(self._partitions) >= TARGETS_MAX:
                raise NotAllowed(f"one topic more than {TARGETS_MAX}: start again for those")
            if source.partitioned_name == target.partitioned_name:
                raise NotAllowed("the letters are there already: say another topic with `to`")
            if rights is not None and not await rights.may(
                self._request,
                Access.PRODUCE,
                tenant=target.tenant,
                namespace=target.namespace,
                topic=target,
                subscription="",
            ):
                raise NotAuthorized(f"Don't have permission to produce to {target}")
            self._partitions[target] = await self._admin.creation.partitions(target, create=False)
        except MagnetarError as error:
            self._refused[target] = f"{target}: {error}"

    def _refuse(self, found: EntryDeadLetters, letter: DeadLetter, reason: str) -> None:
        """Let a letter stay, and others for its topic."""
        self._refused[letter.target] = reason
        self.progress.skip(reason)
        found.letters.remove(letter)
        found.skipped.append(reason)

    async def _version(
        self, source: TopicName, target: TopicName, letter: DeadLetter
    ) -> bytes | None:
        """The version that the letter's schema has where it goes. Raises IncompatibleSchema."""
        sent = letter.message.schema_version or b""
        if (target, sent) not in self._versions:
            schema, registry = None, self._admin.schema_registry
            if len(sent) == 8:
                schema = (await registry.version(source, version_number(sent))).schema
            number = await self._admin.schemas.of_producer(target, schema)
            self._versions[target, sent] = version_bytes(number) or None
        return self._versions[target, sent]


def _acknowledge(
    log: TopicLog, subscription: PersistentSubscription, group: list[EntryDeadLetters]
) -> None:
    whole = [each.position for each in group if each.letters and each.whole]
    parts: list[tuple[Position, list[int]]] = []
    for each in group:
        if each.letters and not each.whole:
            moved = [letter.message.batch_index for letter in each.letters]
            pending = log.pending(subscription, each.position)
            size = each.letters[0].message.batch_size
            parts.append((each.position, without(pending, moved, size)))
    log.acknowledge(subscription, whole, parts)
