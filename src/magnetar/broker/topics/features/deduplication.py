"""Deduplication of one topic: what a producer sends again is answered, and not stored again.

The highest sequence ids are kept with a cursor of its own, as its properties: a snapshot, which
holds for everything up to its mark. When a topic is loaded, the entries behind it tell the rest.
Like every cursor it keeps what lies behind its mark from being deleted.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from magnetar.broker.topics.publishing.producer import Producer
from magnetar.broker.topics.publishing.replicator_producer import ReplicatorProducer
from magnetar.broker.topics.publishing.sequence_ids import SequenceIds
from magnetar.broker.topics.publishing.source_positions import SourcePositions
from magnetar.broker.topics.publishing.topic_writer import Waiting
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import CorruptEntry, MagnetarError
from magnetar.message import metadata
from magnetar.message.replicas import source_of
from magnetar.message.send_run import SendRun
from magnetar.model.position import LATEST, Position
from magnetar.storage.managed_ledger.cursor import Cursor

CURSOR: Final = "pulsar.dedup"
"""The name of its cursor, which is no subscription and in no list of them."""

READ_ENTRIES_MAX: Final = 1_000
"""Entries that are looked at before others are served."""

_READ_BYTES_MAX: Final = 5 * 1024 * 1024


class Deduplication:
    """Knows the duplicates of one topic while that deduplicates. Snapshots begin with ``start``."""

    def __init__(self, state: StoredTopicState, attached: Mapping[str, Producer]) -> None:
        self.ids = SequenceIds()
        self.sources = SourcePositions()
        self._state = state
        self._ledger = state.ledger
        self._attached = attached
        self._settings = state.context.settings
        self._clock = state.clock
        self._cursor: Cursor | None = None  # Not before ``start`` has ended.
        self._known_to = state.ledger.last_position  # All up to there is in ``ids``,
        self._unsaved = 0  # and of that so many entries are in no snapshot.
        self._saved_at = state.clock.now()

    @property
    def started(self) -> bool:
        return self._cursor is not None

    async def start(self) -> None:
        """Open the cursor, and learn what was stored before. Raises what the stores raise."""
        upto = self._ledger.last_position
        cursor = await self._ledger.open_cursor(CURSOR, LATEST)
        self.ids.restore(self.sources.restore(cursor.properties))
        position = self._ledger.next_position(cursor.mark)
        while position <= upto:
            run = await self._ledger.read(position, READ_ENTRIES_MAX, _READ_BYTES_MAX)
            if run is None:
                break
            for entry in run.data:
                self._learn(entry)
            self._unsaved += len(run.data)
            position = Position(run.ledger_id, run.last_entry_id + 1)
            await self._clock.sleep(0)
        self._cursor = cursor
        self._snapshot_if_due()

    def before_append(self, producer: Producer, run: SendRun) -> Mapping[int, bool | MagnetarError]:
        """The duplicates in a run."""
        if not isinstance(producer, ReplicatorProducer):
            return self.ids.duplicates(producer.name, run)
        if producer.by_place:
            return self.sources.duplicates(producer.name, run.sources)
        return {
            index: True
            for index, name, sequence_id in _originals(run)
            if not self.ids.take(name, sequence_id)
        }

    def after_append(self, runs: Sequence[Waiting], last: Position) -> None:
        for producer, run in runs:
            if not isinstance(producer, Producer):
                continue
            if not isinstance(producer, ReplicatorProducer):
                self.ids.stored(producer.name, run)
            elif producer.by_place:
                self.sources.stored(producer.name, run.sources)
            else:
                for _, name, sequence_id in _originals(run):
                    self.ids.found(name, sequence_id)
            self._unsaved += len(run.data)
        self._known_to = last
        self._snapshot_if_due()

    async def maintain(self) -> None:
        """Take a snapshot if it is time, and forget producers that are gone for long."""
        idle_s = self._settings.deduplication_idle_minutes * 60
        expired = self.ids.expire(self._attached, self._clock.now(), idle_s)
        interval_s = self._state.policies.deduplication_snapshot_interval_s
        if interval_s and self._unsaved and self._clock.now() - self._saved_at >= interval_s:
            self.snapshot()
        if expired and self._cursor is not None:
            await self._cursor.set_properties(self._snapshot())

    def snapshot(self) -> None:
        """Have all that is known saved soon, with the cursor."""
        if self._cursor is not None and self._unsaved:
            self._cursor.properties = self._snapshot()
            self._cursor.acknowledge_cumulative(self._known_to)
            self._unsaved = 0
            self._saved_at = self._clock.now()

    def _snapshot_if_due(self) -> None:
        """As often as the cursor is saved, if there are enough entries for it."""
        if self._unsaved < self._settings.deduplication_entries_interval:
            return
        if self._cursor is not None and self._cursor.saved:
            self.snapshot()

    def _snapshot(self) -> dict[str, str]:
        producers_max = self._settings.deduplication_producers_max
        return self.ids.snapshot(self._attached, producers_max) | self.sources.snapshot()

    def _learn(self, entry: bytes) -> None:
        try:
            source, clusters = source_of(entry), self._state.context.clusters
            if source is not None and clusters is not None:
                cluster = metadata.peek(entry).replicated_from
                if cluster is not None:
                    self.sources.found(clusters.producer_name(cluster, clusters.here), source)
                    return
            name, sequence_id = metadata.published(entry)
        except CorruptEntry:
            return  # Nobody can read it, so nobody gets it.
        if sequence_id is not None:
            self.ids.found(name, sequence_id)


def _originals(run: SendRun) -> Iterator[tuple[int, str, int]]:
    """Index, producer and sequence id of what a run has of messages that were published elsewhere.

    Of a message in chunks the last one counts.
    """
    for index, entry in enumerate(run.data):
        try:
            name, sequence_id = metadata.published(entry)
        except CorruptEntry:
            continue
        if sequence_id is not None:
            yield index, name, sequence_id
