"""Loop 2: what was published to one topic goes into its log, and is answered when it is durable.

Runs wait in an inbox. At the end of the iteration in which the first of them came, the inbox is
appended as one list, however many producers it is from. While an append is not answered, a few
entries wait for its answer, and ``AHEAD_MIN`` or more are appended behind it. Answers come in the
order of appends. When one comes, what arrived meanwhile is appended, the producers are answered,
and then the subscriptions are woken.

Some sends are not stored: duplicates, or those that an observer refuses. They are answered in turn,
once all that was taken before them is durable: a duplicate of a send whose append fails is not
stored either. After a failed append nothing is known of what follows it, so all that waits is
refused, the writer takes no more, and the topic is closed, and opened again when a client returns.
What the broker appends itself, such as the markers of transactions, goes the same way.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.callbacks import unheard
from magnetar.errors import MagnetarError, UnknownFailure
from magnetar.loop_iteration import Phase
from magnetar.message.send_run import SendRun
from magnetar.model.counts import WriteCounts
from magnetar.model.position import Position
from magnetar.storage.managed_ledger.entries import Appendable, Entries


def joined(runs: Sequence[tuple[object, SendRun]]) -> Appendable:
    """The entries of all runs, of which there is at least one, in their order."""
    first = runs[0][1]
    if len(runs) == 1:
        return first
    traits = first.traits.joined([run.traits for _, run in runs[1:]])
    entries = Entries([], [], traits, sum(run.size_bytes for _, run in runs))
    for _, run in runs:
        entries.data.extend(run.data)
        entries.checksums.extend(run.checksums)
    return entries


log = logging.getLogger(__name__)

AHEAD_MIN: Final = 64
"""So many entries are appended although an append before them is not answered; few wait for it."""


class Appender(Protocol):
    """The sender of a run, which is told its outcome: a producer, or the broker itself."""

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        """The run is durable, its entries one after the other."""

    def refused(self, run: SendRun, error: MagnetarError) -> None:
        """The run may not be durable."""

    def dropped(self, run: SendRun) -> None:
        """The topic is being closed, and the run may be durable or not."""


class AnsweredInTurn:
    """Sends that are not stored, queued behind what was taken before them: that may fail yet.

    They were stored before, unless there is a ``refusal``.
    """

    __slots__ = ("_producer", "_refusal", "_run")

    def __init__(self, producer: Producer, run: SendRun, refusal: MagnetarError | None) -> None:
        self._producer = producer
        self._run = run
        self._refusal = refusal

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        """The sends before them are durable, so these can be answered."""
        self.answer()

    def answer(self) -> None:
        if self._refusal is None:
            self._producer.stored_before(self._run)
        else:
            self._producer.refused(self._run, self._refusal)

    def refused(self, run: SendRun, error: MagnetarError) -> None:
        self._producer.refused(self._run, error)

    def dropped(self, run: SendRun) -> None:
        self._producer.dropped(self._run)


Waiting = tuple[Appender, SendRun]
"""Who is answered when a run is stored; for what is answered in turn nothing is."""


class AppendObserver(Protocol):
    """What knows of every append to a topic. Neither of its methods may fail."""

    def before_append(self, producer: Producer, run: SendRun) -> Mapping[int, bool | MagnetarError]:
        """A run comes. Return the indexes of sends that are not to be stored, and why.

        True: they are stored already. All are answered when what was taken before them is stored.
        """

    def after_append(self, runs: Sequence[Waiting], last: Position) -> None:
        """The entries of one append are durable, up to ``last``."""


class AppendWatch:
    """An observer that says that something was stored, and lets everything be."""

    __slots__ = ("_grew",)

    def __init__(self, grew: Callable[[], None]) -> None:
        self._grew = grew

    def before_append(self, producer: Producer, run: SendRun) -> Mapping[int, bool | MagnetarError]:
        return {}

    def after_append(self, runs: Sequence[Waiting], last: Position) -> None:
        self._grew()


class Dispatching(Protocol):
    """What delivers what is stored."""

    def wake(self) -> None:
        """The topic grew."""


class TopicWriter:
    """The writer of one topic. ``failed`` is called once, when a write failed."""

    __slots__ = (
        "_answered",
        "_clock",
        "_closed",
        "_failed",
        "_held",
        "_inbox",
        "_inbox_since",
        "_inbox_size",
        "_iteration",
        "_ledger",
        "_state",
        "_storing",
        "_subscriptions",
        "_topic",
        "_will_store",
        "begin_transactions",
        "last_publish_ms",
        "message_count",
        "observers",
        "replicators",
        "size_bytes",
        "writes",
    )

    def __init__(
        self,
        state: StoredTopicState,
        subscriptions: Mapping[str, Dispatching],
        *,
        failed: Callable[[], None],
    ) -> None:
        self.message_count = 0
        self.size_bytes = 0
        self.last_publish_ms = 0
        self.writes: WriteCounts | None = None  # None: nothing was stored since it was loaded.
        self.observers: tuple[AppendObserver, ...] = ()
        self.replicators: Mapping[str, Dispatching] = {}  # By cluster.
        self.begin_transactions: Callable[[], None] | None = None
        """Makes an observer of transactions, when the first run of one comes."""
        self._state = state
        self._topic = state.name
        self._ledger = state.ledger
        self._subscriptions = subscriptions
        self._clock = state.clock
        self._iteration = state.context.iteration
        self._failed = failed
        self._inbox: list[Waiting] = []
        self._inbox_size = 0  # Entries in it.
        self._inbox_since = 0.0  # When the first of them came.
        self._will_store = False  # At the end of an iteration.
        self._held = False  # Nothing is appended before something else is durable.
        # The appends under way, and when the first entry of each came.
        self._storing: tuple[tuple[list[Waiting], float], ...] = ()
        self._answered: asyncio.Future[None] | None = None  # Somebody waits for the next answers.
        self._closed = False

    @property
    def busy(self) -> bool:
        """Something waits to be stored or answered."""
        return bool(self._storing or self._inbox)

    def published(self) -> tuple[int, int]:
        """The messages and bytes that were stored."""
        return self.message_count, self.size_bytes

    def publish(self, producer: Producer, run: SendRun) -> None:
        """Take a run; it is answered through the producer when it is durable."""
        if self._closed:
            producer.dropped(run)
        elif not self.observers and run.transaction is None:
            self._take(producer, run)
        else:
            if run.transaction is not None and self.begin_transactions is not None:
                self.begin_transactions()
            self._take_observed(producer, run, self.observers)

    def append(self, appender: Appender, run: SendRun) -> None:
        """Append a run of the broker's own behind all that was taken. Observers are told after it.

        It may be appended to a topic that was terminated, too, where producers may do no more.
        Raises TopicClosed.
        """
        self._state.check_open()
        self._take(appender, run)

    def hold(self) -> None:
        """Take runs, but append none, until ``release``."""
        self._held = True

    def release(self, error: MagnetarError | None = None) -> None:
        """Append what was held, or refuse it."""
        self._held = False
        if error is None:
            self._store()
        else:
            self._fail(error)

    def _take_observed(
        self, producer: Producer, run: SendRun, observers: Sequence[AppendObserver]
    ) -> None:
        """Take what every observer lets through; each is asked of what those before it let."""
        for index, observer in enumerate(observers, start=1):
            if known := observer.before_append(producer, run):
                for why, part in run.split_by(known):
                    if why is None:
                        self._take_observed(producer, part, observers[index:])
                    else:
                        refusal = why if isinstance(why, MagnetarError) else None
                        self._answer_in_turn(AnsweredInTurn(producer, part, refusal), part)
                return
        self._take(producer, run)

    def _take(self, appender: Appender, run: SendRun) -> None:
        if not self._inbox_size:
            self._inbox_since = self._clock.now()
        self._inbox.append((appender, run))
        self._inbox_size += len(run.data)
        if not self._will_store and (not self._storing or self._may_store()):
            self._will_store = True
            self._iteration.at_end(Phase.APPEND, self._store)

    def _answer_in_turn(self, answered: AnsweredInTurn, run: SendRun) -> None:
        """Answer what is not stored, when all that is stored before it is answered."""
        line = self._inbox or (self._storing[-1][0] if self._storing else None)
        if line is None:
            answered.answer()
        else:
            line.append((answered, run.part(0, 0)))

    async def close(self) -> None:
        """Take nothing more; return when all that was taken is answered."""
        self._end()
        while self.busy:
            await self.answers()

    async def answers(self) -> None:
        """Return when the next append is answered. To be called while the writer is ``busy``."""
        if self._answered is None:
            self._answered = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._answered)

    def abandon(self) -> None:
        """Take nothing more, and answer nothing: what is under way may be stored or not."""
        self._end()
        for appender, run in self._take_waiting():
            appender.dropped(run)
        self._tell()

    def _end(self) -> None:
        self._closed = True
        self.begin_transactions = None
        self._failed = unheard

    def _may_store(self) -> bool:
        """Whether what waits is appended before an append under way is answered."""
        return self._inbox_size >= AHEAD_MIN and self._ledger.takes_more

    def _store(self) -> None:
        """Append all that waits, once, unless it is little and an answer is expected."""
        self._will_store = False
        if not self._inbox or self._held or (self._storing and not self._may_store()):
            return
        runs, self._inbox, self._inbox_size = self._inbox, [], 0
        self._storing = (*self._storing, (runs, self._inbox_since))
        try:
            self._ledger.append(joined(runs), self._stored)
        except Exception as error:
            log.exception("topic.defect topic=%s", self._topic)
            self._fail(UnknownFailure(f"{type(error).__name__}: {error}"))

    def _stored(self, ledger_id: int, entry_id: int, error: MagnetarError | None) -> None:
        """The log answered: append what came meanwhile, answer the producers, then dispatch."""
        if error is not None:
            self._fail(error)
            return
        if not self._storing:  # An append before it failed, and everything behind that with it.
            return
        (runs, since), self._storing = self._storing[0], self._storing[1:]
        if self._inbox:
            self._store()
        self.last_publish_ms = self._clock.wall_ms()
        size_before, first = self.size_bytes, entry_id
        for appender, run in runs:
            self.message_count += run.message_count
            self.size_bytes += run.size_bytes
            appender.stored(run, ledger_id, entry_id)
            entry_id += len(run.data)
        if entries := entry_id - first:
            if (writes := self.writes) is None:
                writes = self.writes = WriteCounts()
            writes.note(entries, self.size_bytes - size_before, self._clock.now() - since)
        if self.observers:
            last = Position(ledger_id, entry_id - 1)
            for observer in self.observers:
                observer.after_append(runs, last)
        self._dispatch()
        if self._answered is not None:
            self._tell()

    def _dispatch(self) -> None:
        for name, subscription in self._subscriptions.items():
            self._wake(name, subscription)
        if self.replicators:
            for cluster, replicator in self.replicators.items():
                self._wake(cluster, replicator)

    def _wake(self, name: str, dispatching: Dispatching) -> None:
        try:
            dispatching.wake()
        except Exception:  # A defect of ours stops neither the others nor the producers.
            log.exception("subscription.defect topic=%s name=%s", self._topic, name)

    def _fail(self, error: MagnetarError) -> None:
        """A write failed: refuse all that waits, and take nothing more."""
        log.error("topic.write_failed topic=%s error=%s", self._topic, error)
        for appender, run in self._take_waiting():
            appender.refused(run, error)
        if not self._closed:
            self._closed = True
            self._failed()
        self._tell()

    def _take_waiting(self) -> list[Waiting]:
        """All that is not answered, which nothing will be answered for from here on."""
        storing = chain.from_iterable(runs for runs, _ in self._storing)
        waiting = [*storing, *self._inbox]
        self._storing, self._inbox, self._inbox_size = (), [], 0
        return waiting

    def _tell(self) -> None:
        """Wake who waits for answers."""
        if self._answered is not None:
            self._answered.set_result(None)
            self._answered = None
