"""Lets other clusters know how far subscriptions of one topic are, and follows what they say.

Once a second, where something was published, the clusters agree on a snapshot of the topic by
markers (``message/subscription_markers.py``). When a subscription came past one, the others are
told, and move theirs as far. All markers are read by the replicators, each by that of the cluster
that it came from. They are no backlog of a subscription without consumers that has nothing else
left.
"""

import logging
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from magnetar.broker.topics.features.replicator import Replicator
from magnetar.broker.topics.log.termination import terminated_at
from magnetar.broker.topics.publishing.topic_writer import TopicWriter
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.broker.topics.subscriptions.persistent_subscription import (
    REPLICATED,
    PersistentSubscription,
)
from magnetar.broker.topics.subscriptions.subscription_snapshots import (
    SnapshotRound,
    SnapshotsAhead,
)
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.broker.topics.topic_subscriptions import TopicSubscriptions
from magnetar.errors import ConsumerBusy, CorruptEntry, MagnetarError, TopicClosed
from magnetar.message import metadata, subscription_markers
from magnetar.message.entry import checksum
from magnetar.message.send_run import SendRun
from magnetar.message.subscription_markers import (
    Snapshot,
    SnapshotRequest,
    SnapshotResponse,
    SubscriptionMarker,
    SubscriptionUpdate,
)
from magnetar.model.position import EARLIEST, Position
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

MARKERS_MAX: Final = 4096
"""So many markers are known by their places."""


class _Followed:
    """One replicated subscription."""

    def __init__(
        self, subscription: PersistentSubscription, topic: "ReplicatedSubscriptions", count_max: int
    ) -> None:
        self.subscription = subscription
        self.snapshots = SnapshotsAhead(count_max)
        self.leads = True  # It moved here last, and not because another cluster said so.
        self._topic = topic
        subscription.watch(self.read, self.moved)

    def read(self, entry: bytes) -> None:
        """A snapshot that was kept before is read by its consumers."""
        try:
            found = subscription_markers.read(entry, metadata.SNAPSHOT)
        except CorruptEntry:
            return  # Nobody can read it.
        if isinstance(found, Snapshot) and found.local > self.subscription.mark:
            self.snapshots.add(found)

    def moved(self, mark: Position) -> None:
        """Its mark moved here."""
        self.leads = True
        self._tell(mark)

    def complete(self, snapshot: Snapshot) -> None:
        """One was taken."""
        self.snapshots.add(snapshot)
        self._tell(self.subscription.mark)

    def follow(self, position: Position) -> None:
        """Move as far as another cluster has."""
        self.leads = False
        self.pass_to(position)

    def pass_to(self, position: Position) -> None:
        """Acknowledge all up to there, and let that be no news of this cluster."""
        self.subscription.watch(self.read, None)
        self.subscription.acknowledge_up_to(position)
        self.subscription.watch(self.read, self.moved)
        self._tell(self.subscription.mark)

    def _tell(self, mark: Position) -> None:
        passed = self.snapshots.passed(mark)
        if passed is not None and self.leads:
            self._topic.tell(SubscriptionUpdate(self.subscription.name, passed.positions))


class ReplicatedSubscriptions:
    """Of one topic. It begins with ``apply``, or with the first marker of another cluster."""

    def __init__(
        self,
        state: StoredTopicState,
        writer: TopicWriter,
        subscriptions: TopicSubscriptions,
        replicators: Mapping[str, Replicator],
        clusters: OtherClusters,
    ) -> None:
        self.snapshot_count = 0
        self._state = state
        self._writer = writer
        self._subscriptions = subscriptions
        self._replicators = replicators
        self._here = clusters.here
        self._settings = clusters.settings
        self._counts = clusters.snapshots
        self._clock = state.clock
        self._tasks = Tasks(f"replicated subscriptions of {state.name}")
        self._followed: dict[str, _Followed] = {}
        self._rounds: dict[str, SnapshotRound] = {}  # By id.
        self._ids = f"{clusters.here}-{state.clock.wall_ms()}-"
        self._begun_count = 0
        self._grown = False  # Something was published since the last snapshot began.
        self._waits = False  # To begin one.
        self._looked_at = float("-inf")  # When one was to begin last.
        self._markers: list[Position] = []  # The latest ones, in the order of the log.
        self._new: dict[str, Position] = {}  # Where subscriptions are to be that are being made.

    def apply(self) -> None:
        """Know which subscriptions are replicated now."""
        by_name, came = self._subscriptions.by_name, False
        for name, followed in list(self._followed.items()):
            if by_name.get(name) is not followed.subscription:
                del self._followed[name]
            elif not followed.subscription.replicated:
                followed.subscription.watch(None, None)
                del self._followed[name]
        for name, subscription in by_name.items():
            if name not in self._followed and subscription.replicated and subscription.durable:
                count_max = self._settings.snapshots_max
                self._followed[name] = _Followed(subscription, self, count_max)
                came = True
        if came:
            self.grew()

    def grew(self) -> None:
        """Something was published, wherever: have a snapshot taken."""
        self._grown = True
        if not self._waits and self._followed:
            self._waits = True
            self._tasks.spawn("snapshot", self._wait())

    def look_again(self) -> None:
        """Take the snapshot that could not be taken, and give up those that take too long."""
        self._give_up()
        if self._grown:
            self.grew()

    def read(self, cluster: str, run: EntryRun, indexes: Sequence[int]) -> None:
        """The replicator to a cluster has read these entries, which may be markers."""
        for index in indexes:
            try:
                seen = metadata.peek(run.data[index])
                if seen.marker_type is None or seen.marker_type not in metadata.OF_SUBSCRIPTIONS:
                    continue
                marker = subscription_markers.read(run.data[index], seen.marker_type)
            except CorruptEntry:
                continue  # Nobody can read it, and it is no backlog of anybody.
            position = Position(run.ledger_id, run.first_entry_id + index)
            new = not self._markers or position > self._markers[-1]
            if new:
                self._note(position)
            if seen.replicated_from is None:
                if new and isinstance(marker, Snapshot):
                    for followed in list(self._followed.values()):
                        followed.complete(marker)
            elif seen.replicated_from == cluster:
                self._heard(cluster, position, marker)

    def tell(self, marker: SubscriptionMarker, *, to: str | None = None) -> None:
        """Publish a marker, for one cluster or all."""
        if terminated_at(self._state.ledger) is not None:
            return
        entry = subscription_markers.entry_of(marker, self._clock.wall_ms(), to=to)
        run = SendRun.of(0, [0], [entry], [checksum(entry)], [0], [0])
        try:
            self._writer.append(self, run)
        except TopicClosed:
            return  # The next snapshot is taken by its next owner.

    def stored(self, run: SendRun, ledger_id: int, first_entry_id: int) -> None:
        """A marker is stored: replicators read it next."""

    def refused(self, run: SendRun, error: MagnetarError) -> None:
        """The topic is closed, and snapshots are taken when it is opened again."""

    def dropped(self, run: SendRun) -> None:
        """As with ``refused``."""

    async def close(self) -> None:
        """Take no more snapshots."""
        await self._tasks.close()
        for snapshot_id in list(self._rounds):
            self._drop(snapshot_id)

    async def _wait(self) -> None:
        """Begin a snapshot when it is time."""
        pause_s = self._looked_at + self._settings.snapshot_interval_ms / 1000 - self._clock.now()
        if pause_s > 0:
            await self._clock.sleep(pause_s)
        self._waits = False
        self._begin()

    def _begin(self) -> None:
        now = self._looked_at = self._clock.now()
        self.apply()
        self._give_up()
        if not self._followed or not self._replicators:
            return
        away = [each for each in self._replicators.values() if not each.attached]
        for replicator in away:
            replicator.attach()  # They tell of what is published when they are.
        if away or (self._rounds and not self.snapshot_count):
            return
        self._grown = False
        self._begun_count += 1
        snapshot_id = f"{self._ids}{self._begun_count}"
        self._rounds[snapshot_id] = SnapshotRound(self._replicators, now)
        self._counts.pending += 1
        self.tell(SnapshotRequest(snapshot_id, self._here))

    def _heard(self, cluster: str, position: Position, marker: SubscriptionMarker) -> None:
        """Another cluster says something."""
        match marker:
            case SnapshotRequest(snapshot_id):
                last = self._state.ledger.last_position
                self.tell(SnapshotResponse(snapshot_id, self._here, last), to=cluster)
            case SnapshotResponse(snapshot_id, answering, there) if answering == cluster:
                pending = self._rounds.get(snapshot_id)
                if pending is not None and pending.answered(cluster, there):
                    self._answered(snapshot_id, pending, position)
            case SubscriptionUpdate(name, positions) if self._here in positions:
                self._move(name, positions[self._here])

    def _answered(self, snapshot_id: str, pending: SnapshotRound, position: Position) -> None:
        """All have answered."""
        if pending.rounds_left:
            self.tell(SnapshotRequest(snapshot_id, self._here))
            return
        self._drop(snapshot_id)
        self._counts.taken.note(self._clock.now() - pending.began_at)
        self.snapshot_count += 1
        self.tell(Snapshot(snapshot_id, position, pending.positions), to=self._here)
        self.look_again()

    def _give_up(self) -> None:
        """Wait no longer for answers that should be there."""
        now = self._clock.now()
        for snapshot_id, pending in list(self._rounds.items()):
            if now - pending.began_at >= self._settings.snapshot_timeout_s:
                self._drop(snapshot_id)
                self._counts.timed_out += 1

    def _drop(self, snapshot_id: str) -> None:
        """Wait for no more answers."""
        del self._rounds[snapshot_id]
        self._counts.pending -= 1

    def _move(self, name: str, position: Position) -> None:
        """A subscription has nothing left up to there in another cluster."""
        subscription = self._subscriptions.by_name.get(name)
        if subscription is None:
            making = name in self._new
            self._new[name] = max(position, self._new.get(name, position))
            if not making:
                self._tasks.spawn(f"subscription {name}", self._make(name))
        elif position > subscription.mark:
            followed = self._followed.get(name)
            if followed is None:
                subscription.acknowledge_up_to(position)
            else:
                followed.follow(position)
            self._pass_over([subscription])

    async def _make(self, name: str) -> None:
        """Make a subscription that another cluster has."""
        try:
            await self._subscriptions.create(name, EARLIEST, {REPLICATED: "1"})
        except ConsumerBusy:
            pass  # A consumer came first.
        except MagnetarError as error:
            log.warning(
                "replication.subscription_not_made topic=%s subscription=%s error=%s",
                self._state.name,
                name,
                error,
            )
            self._new.pop(name)
            return
        position = self._new.pop(name)
        self.apply()
        if name in self._subscriptions.by_name:
            self._move(name, position)

    def _note(self, position: Position) -> None:
        """Remember a marker, and pass over it where there is nothing before it."""
        self._markers.append(position)
        if len(self._markers) > MARKERS_MAX:
            del self._markers[: MARKERS_MAX // 2]
        self._pass_over(self._subscriptions.by_name.values())

    def _pass_over(self, subscriptions: Iterable[PersistentSubscription]) -> None:
        """Acknowledge the markers that are next for subscriptions without consumers."""
        ledger, markers = self._state.ledger, self._markers
        for subscription in subscriptions:
            if subscription.consumers or not subscription.durable:
                continue
            reached = before = subscription.mark
            for index in range(bisect_right(markers, before), len(markers)):
                if ledger.next_position(reached) != markers[index]:
                    break
                reached = markers[index]
            if reached == before:
                continue
            followed = self._followed.get(subscription.name)
            if followed is None:
                subscription.acknowledge_up_to(reached)
            else:
                followed.pass_to(reached)
