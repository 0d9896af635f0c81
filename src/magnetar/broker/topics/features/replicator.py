"""Sends what is published to one topic to one other cluster, in its order.

Progress is a cursor: its mark moves when the other cluster has stored what was sent. So many
entries are on their way at once as the settings say, and no more than ``BYTES_MAX`` bytes. When the
connection is lost all behind the mark is sent again; the other cluster tells by the positions here
what it has already. Like a dispatch loop this runs when somebody wakes it, without a task but for
what must be read from disk or asked for.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from magnetar.broker.topics.features import rate_limit
from magnetar.broker.topics.features.rate_limit import Counters, RateLimit
from magnetar.broker.topics.features.topic_rates import set_dispatch
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import MagnetarError, StorageError
from magnetar.late_dataclass import dataclass
from magnetar.message.entry_traits import EntryTraits, traits_of
from magnetar.message.replicas import Copies, copies
from magnetar.message.send_run import OF_A_MARKER, SendRun
from magnetar.model.policy_values import DispatchRate
from magnetar.model.position import Position
from magnetar.model.stats import ReplicationStats
from magnetar.storage.managed_ledger.cursor import Cursor
from magnetar.storage.managed_ledger.run import EntryRun
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)

BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes on their way to one cluster at once, beyond one read."""
RUN_MAX: Final = 250
"""Entries that are sent as one run: the mark moves when all of it is stored."""
GATHER_S: Final = 0.002
"""What is published within so long after it sent something goes together ..."""
GATHERED_MIN: Final = 64
"""... unless so many entries wait. A run costs both clusters about as much as some ten entries."""
RETRY_S: Final = 5.0
"""How long it waits after something could not be read, or asked for."""
IDLE_MAX_S: Final = 60.0
"""It lets go of the other cluster when there was nothing to send for so long."""


@dataclass(slots=True)
class _Sent:
    """A run that was sent, and how much of it is stored."""

    ledger_id: int
    entry_ids: list[int]
    size_bytes: int
    through: Position  # Nothing is to be sent between its last entry and there.
    at: float
    stored: int = 0

    @property
    def next_source(self) -> Position:
        """The entry that is stored next."""
        return Position(self.ledger_id, self.entry_ids[self.stored])

    def reached(self) -> Position:
        """Up to where everything of it is stored."""
        if self.stored == len(self.entry_ids):
            return self.through
        return Position(self.ledger_id, self.entry_ids[self.stored] - 1)


class Replicator:
    """Of one topic to one cluster. It begins with ``wake``."""

    def __init__(
        self,
        cluster: str,
        cursor: Cursor,
        state: StoredTopicState,
        clusters: OtherClusters,
        saw: Callable[[str, EntryRun, Copies], None],
    ) -> None:
        """``saw`` is called with what was read for the cluster, and may be again with the same."""
        self.cluster = cluster
        self.cursor = cursor
        self.entry_count = 0
        self.message_count = 0
        self.size_bytes = 0
        self.expired_count = 0
        self._state = state
        self._saw = saw
        self._here = clusters.here
        self._settings = clusters.settings
        self._reader = cursor.reader
        self._clock = state.clock
        self._tasks = Tasks(f"replicator of {state.name} to {cluster}")
        self._remote = clusters.open(cluster, state.name, self)
        self._attached = False
        self._running = False
        self._busy: asyncio.Task[None] | None = None  # It reads, asks or waits.
        self._sent: deque[_Sent] = deque()
        self._entries_on_way = 0
        self._bytes_on_way = 0
        self._last_stored: Position | None = None  # As the other cluster said.
        self._used_at = state.clock.now()
        self._looked_at = -math.inf  # When it last took what there was to send.
        self._gathering: asyncio.TimerHandle | None = None
        self._usual_version = b""  # A version of a schema that is the same there.
        self._limit = RateLimit("replicator", state.clock.now())
        self._waiting: asyncio.Task[None] | None = None  # For the rate.
        self._closed = False

    @property
    def name(self) -> str:
        return self.cursor.name

    @property
    def durable(self) -> bool:
        return True

    @property
    def backlog(self) -> int:
        """Entries that the other cluster may not have yet."""
        return self.cursor.backlog

    @property
    def mark(self) -> Position:
        return self.cursor.mark

    @property
    def attached(self) -> bool:
        """What is published is sent at once."""
        return self._attached

    @property
    def encrypted(self) -> bool:
        return bool(self._state.policies.encryption_required)

    def limit(self, rate: DispatchRate | None, published: Counters) -> None:
        """Send no faster than this from now on."""
        set_dispatch(self._limit, rate, self._clock.now(), published)

    def acknowledge_up_to(self, position: Position) -> None:
        """Send nothing up to there any more."""
        self.cursor.acknowledge_cumulative(position)

    def expire(self, position: Position) -> int:
        """Send nothing up to there any more; return how many entries that concerns."""
        before = self.backlog
        self.cursor.acknowledge_cumulative(position)
        expired = before - self.backlog
        self.expired_count += expired
        return expired

    def wake(self) -> None:
        """There may be something to send."""
        if self._running or self._busy is not None or self._waiting is not None or self._closed:
            return
        if not self._attached:
            if self._reader.has_more or self.backlog:
                self._remote.attach()
            return
        if not self._reader.has_more or self._gathers():
            return
        self._running = True
        try:
            self._send_some()
        finally:
            self._running = False

    def _gathers(self) -> bool:
        """Whether the few entries that there are wait for others to come."""
        now = self._clock.now()
        wait_s = self._looked_at + GATHER_S - now
        if wait_s > 0 and not self._reader.has_together(GATHERED_MIN):
            if self._gathering is None:
                self._gathering = asyncio.get_running_loop().call_later(wait_s, self._gathered)
            return True
        self._looked_at = now
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        return False

    def _gathered(self) -> None:
        self._gathering, self._looked_at = None, -math.inf
        self.wake()

    def attach(self) -> None:
        """Attach, although there may be nothing to send."""
        if not self._closed:
            self._remote.attach()

    def rest_if_idle(self) -> None:
        """Let go of the other cluster where there was nothing to send for long."""
        idle_s = self._clock.now() - self._used_at
        if self._attached and not self.backlog and idle_s >= IDLE_MAX_S:
            self._remote.detach()

    def fill(self, stats: ReplicationStats) -> None:
        """Say how it stands."""
        remote = self._remote
        stats.connected = self._attached
        stats.outbound_address = remote.address
        stats.outbound_since_ms = remote.attached_ms
        stats.trouble = remote.trouble if self.backlog or not self._attached else ""
        stats.msg_out_counter = self.message_count
        stats.bytes_out_counter = self.size_bytes
        stats.expired_counter = self.expired_count
        stats.backlog_entries = self.backlog
        stats.backlog_bytes = self.cursor.backlog_bytes
        stats.delay_s = self._clock.now() - self._sent[0].at if self._sent else 0.0

    def stop(self) -> None:
        """Send nothing any more. What was sent may be stored or not."""
        self._closed = True
        if self._gathering is not None:
            self._gathering.cancel()
            self._gathering = None
        self._remote.detach()

    async def close(self) -> None:
        """As ``stop``, and return when nothing of it runs."""
        self.stop()
        await self._tasks.close()
        await self._remote.close()

    def on_attached(self) -> None:
        self._attached = True
        self._used_at = self._clock.now()
        self._last_stored = None
        self._rewind()
        self.wake()

    def on_detached(self) -> None:
        self._attached = False
        if self._sent:
            self.cursor.acknowledge_cumulative(self._sent[0].reached())
        self._rewind()

    def on_stored(self, ledger_ids: list[int], entry_ids: list[int], *, named: bool) -> None:
        at = 0
        while at < len(entry_ids):
            if named and (count := self._stored_together(ledger_ids, entry_ids, at)):
                at += count
                continue
            is_named = named and entry_ids[at] != OF_A_MARKER
            if not self._stored_next(Position(ledger_ids[at], entry_ids[at]) if is_named else None):
                return
            at += 1

    def _stored_together(self, ledger_ids: list[int], entry_ids: list[int], at: int) -> int:
        """How many from ``at`` on are those of the run that was sent first, in its order."""
        if not self._sent:
            return 0
        sent = self._sent[0]
        wanted = sent.entry_ids[sent.stored :]
        found = entry_ids[at : at + len(wanted)]
        count = len(found)
        if found != wanted[:count] or ledger_ids[at : at + count] != [sent.ledger_id] * count:
            return 0
        self._last_stored = Position(sent.ledger_id, found[-1])
        self._advance(sent, count)
        return count

    def _stored_next(self, source: Position | None) -> bool:
        """Take one; false where it is none that was sent, and all is sent again."""
        if source is not None:
            if self._last_stored is not None and source <= self._last_stored:
                return True  # It was told before.
            self._last_stored = source
        sent = self._sent[0] if self._sent else None
        if sent is None or (source is not None and source != sent.next_source):
            log.warning(
                "replicator.out_of_order topic=%s cluster=%s source=%s",
                self._state.name,
                self.cluster,
                source,
            )
            self._remote.again()
            return False
        self._advance(sent, 1)
        return True

    def _advance(self, sent: _Sent, count: int) -> None:
        sent.stored += count
        self._entries_on_way -= count
        if sent.stored == len(sent.entry_ids):
            self._sent.popleft()
            self._bytes_on_way -= sent.size_bytes
            self.cursor.acknowledge_cumulative(sent.through)
            self.wake()

    def _rewind(self) -> None:
        """Whatever is on its way is to be sent again."""
        self._sent.clear()
        self._entries_on_way = self._bytes_on_way = 0
        self._reader.rewind()

    def _capacity(self) -> int:
        """How many entries may be sent now; where none, it is woken later."""
        room = min(self._settings.queue_max - self._entries_on_way, RUN_MAX)
        if room <= 0 or self._bytes_on_way >= BYTES_MAX:
            return 0
        if self._limit:
            self._limit.refill(self._clock.now())
            if self._limit.messages < 1 or self._limit.size_bytes < 1:
                self._waiting = self._tasks.spawn("rate", self._wait_for_rate())
                return 0
            room = int(min(room, self._limit.messages))
        return room

    async def _wait_for_rate(self) -> None:
        await self._clock.sleep(rate_limit.wait_s((self._limit,), self._clock.now()))
        self._waiting = None
        self.wake()

    def _send_some(self) -> None:
        count, settings = 0, self._state.context.settings
        while self._reader.has_more and self._attached:
            wanted = self._capacity()
            if wanted <= 0:
                return
            if count >= settings.iteration_entries_max:
                asyncio.get_running_loop().call_soon(self.wake)
                return
            runs = self._reader.cached(wanted, settings.read_bytes_max)
            if runs is None:
                self._busy = self._tasks.spawn("read", self._read(wanted))
                return
            count += wanted
            self._send_runs(runs)
            if self._busy is not None:
                return

    async def _read(self, wanted: int) -> None:
        """Read from disk, and go on."""
        reader = self._reader
        try:
            runs = await reader.read(wanted, self._state.context.settings.read_bytes_max)
            if not self._attached and runs:
                reader.rewind()
            else:
                self._busy = None
                self._send_runs(runs)
        except StorageError as error:
            log.error(  # noqa: TRY400 - where it was raised is in the text
                "replicator.read_failed topic=%s cluster=%s position=%s error=%s",
                self._state.name,
                self.cluster,
                reader.read_position,
                error,
            )
            await self._clock.sleep(RETRY_S)
        finally:
            if self._busy is asyncio.current_task():
                self._busy = None
        self.wake()

    async def _learn(self, version: bytes) -> None:
        """Ask the other cluster for the version of a schema, and go on."""
        try:
            await self._remote.learn_schema(version)
        except MagnetarError as error:
            log.warning(
                "replicator.schema_refused topic=%s cluster=%s error=%s",
                self._state.name,
                self.cluster,
                error,
            )
            await self._clock.sleep(RETRY_S)
        finally:
            self._busy = None
        if self._remote.schema_version(version) == version:
            self._usual_version = version
        self.wake()

    def _send_runs(self, runs: Sequence[EntryRun]) -> None:
        """Send what is to go of them, as far as schemas are known."""
        for run in runs:
            found = copies(
                run.data,
                run.first,
                here=self._here,
                there=self.cluster,
                schema_version=self._remote.schema_version,
                usual_version=self._usual_version,
            )
            if (transactions := self._state.transactions) is not None:
                _leave_out(found, transactions.aborted_in(run))
            if found.end:
                self._send(run, found)
                self._saw(self.cluster, run, found)
            if found.unknown is not None:
                self._reader.read_position = Position(run.ledger_id, run.first_entry_id + found.end)
                self._busy = self._tasks.spawn("schema", self._learn(found.unknown))
                return

    def _send(self, run: EntryRun, found: Copies) -> None:
        through = Position(run.ledger_id, run.first_entry_id + found.end - 1)
        if not found.indexes:
            if self._sent:
                self._sent[-1].through = through
            else:
                self.cursor.acknowledge_cumulative(through)
            return
        traits = run.traits
        if not isinstance(traits, EntryTraits):
            traits = run.traits = traits_of(run.data)
        counts = [traits.message_counts[index] for index in found.indexes]
        nothing = [0] * len(counts)
        sends = SendRun.of(0, nothing, found.data, found.checksums, counts, nothing)
        entry_ids = [run.first_entry_id + index for index in found.indexes]
        now = self._clock.now()
        self._sent.append(_Sent(run.ledger_id, entry_ids, sends.size_bytes, through, now))
        self._entries_on_way += len(entry_ids)
        self._bytes_on_way += sends.size_bytes
        self.entry_count += len(entry_ids)
        self.message_count += sends.message_count
        self.size_bytes += sends.size_bytes
        self._limit.messages -= sends.message_count
        self._limit.size_bytes -= sends.size_bytes
        self._used_at = now
        self._remote.send(sends)


def _leave_out(found: Copies, indexes: set[int]) -> None:
    """Take these out of what goes."""
    if indexes:
        kept = [at for at, index in enumerate(found.indexes) if index not in indexes]
        found.data = [found.data[at] for at in kept]
        found.checksums = [found.checksums[at] for at in kept]
        found.indexes = [found.indexes[at] for at in kept]
