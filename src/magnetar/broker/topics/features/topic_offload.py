"""Offloads the sealed ledgers of one topic: by its policies, or because somebody asked.

One ledger of a broker after the other is copied. ``storage/managed_ledger/log_offload.py`` says in
which order, ``ledger_rules.py`` which ledgers.
"""

import logging
from collections.abc import Sequence

from magnetar.broker.topics.topic_state import StoredTopicState
from magnetar.errors import AlreadyExists, InvalidValue, MagnetarError, NotAllowed
from magnetar.model.offload_policies import DELETION_LAG_MS, OffloadLocation, OffloadPolicies
from magnetar.model.position import EARLIEST, Position
from magnetar.model.process_status import ProcessStatus
from magnetar.model.stats import TopicStats
from magnetar.storage.codec.offload_context import OffloadContext
from magnetar.storage.ledger.offloader import OPTION
from magnetar.storage.managed_ledger import ledger_rules
from magnetar.tasks import Tasks

log = logging.getLogger(__name__)


class TopicOffload:
    """The offloading of one topic. What it counts, it counts from when the topic was loaded."""

    def __init__(self, state: StoredTopicState) -> None:
        self.status = ProcessStatus.NOT_RUN
        self.last_error = ""
        self.last_ledger_id = 0  # It was offloaded last.
        self.succeeded_ms = 0
        self.failed_ms = 0
        self.first_left: Position | None = None  # The first that was not offloaded, then.
        self._topic = state.name
        self._ledger = state.ledger
        self._clock = state.clock
        self._places = state.context.offloads
        self._new_uid = state.context.new_uid
        self._policies = OffloadPolicies()
        self._location: OffloadLocation | None = None
        self._running = False
        self._tasks = Tasks(f"offload {state.name}")

    def fill(self, stats: TopicStats) -> None:
        """Add how it stands."""
        stats.offloaded_bytes = self.size_bytes
        stats.offloaded_ledger_id = self.last_ledger_id
        stats.offload_succeeded_ms = self.succeeded_ms
        stats.offload_failed_ms = self.failed_ms

    @property
    def running(self) -> bool:
        return self._running

    @property
    def size_bytes(self) -> int:
        """The bytes of the ledgers that were offloaded, wherever else they are."""
        sealed = self._ledger.layout.sealed
        return sum(each.size_bytes for each in sealed if ledger_rules.copied(each))

    def apply(self, policies: OffloadPolicies | None) -> None:
        """Take the policies that hold now."""
        self._policies = policies or OffloadPolicies()
        try:
            self._location = self._policies.location()
        except InvalidValue as error:  # Each level is sound, and together they are not.
            self._location = None
            log.warning("offload.no_place topic=%s error=%s", self._topic, error)
        offload = self._ledger.offload()
        offload.local_first = self._policies.local_first
        offload.secrets = self._location.secrets if self._location is not None else {}

    def start(self, upto: Position) -> None:
        """Begin to offload the ledgers before the one of ``upto``.

        Raises AlreadyExists while some are being offloaded, NotAllowed where no policy says where
        to.
        """
        if self._location is None:
            raise NotAllowed(
                f"Nothing says where ledgers of {self._topic} are offloaded to: set "
                "managedLedgerOffloadDriver and its place, in the broker's settings or as the "
                "offloadPolicies of the namespace or the topic"
            )
        if self._running:
            raise AlreadyExists("Offload already in progress")
        self.status, self.last_error = ProcessStatus.RUNNING, ""
        self.first_left = None
        self._begin(ledger_rules.to_offload_before(self._ledger.sealed_visible, upto.ledger_id))

    def look_after(self) -> None:
        """Begin what the policies say is due."""
        now_ms = self._clock.wall_ms()
        due = self._due(now_ms)
        if not self._running and (due or self._to_drop(now_ms) or self._removed):
            self._begin(due)

    def may_rest(self) -> bool:
        """Whether nothing will be due as time passes."""
        far = self._clock.wall_ms() + ledger_rules.FAR_AHEAD_MS
        return not (self._running or self._due(far) or self._to_drop(far) or self._removed)

    async def close(self) -> None:
        """Stop. A copy that is not complete is made again."""
        await self._tasks.close()
        self._running = False
        if self.status is ProcessStatus.RUNNING:
            self.status = ProcessStatus.NOT_RUN

    def _due(self, now_ms: int) -> list[int]:
        if self._location is None:
            return []
        policies = self._policies
        return ledger_rules.to_offload(
            self._ledger.sealed_visible,
            threshold_bytes=-1 if policies.threshold_bytes is None else policies.threshold_bytes,
            threshold_s=-1 if policies.threshold_s is None else policies.threshold_s,
            now_ms=now_ms,
        )

    def _to_drop(self, now_ms: int) -> list[int]:
        lag_ms = self._policies.deletion_lag_ms
        return ledger_rules.to_drop(
            self._ledger.layout.sealed,
            lag_ms=DELETION_LAG_MS if lag_ms is None else lag_ms,
            now_ms=now_ms,
        )

    @property
    def _removed(self) -> bool:
        return bool(self._ledger.layout.deleting_offloaded)

    def _begin(self, ledger_ids: Sequence[int]) -> None:
        self._running = True
        self._tasks.spawn("run", self._run(ledger_ids))

    async def _run(self, ledger_ids: Sequence[int]) -> None:
        asked = self.status is ProcessStatus.RUNNING
        try:
            async with self._places:
                await self._offload(ledger_ids)
        except MagnetarError as error:
            log.warning("offload.failed topic=%s error=%s", self._topic, error)
            self._failed(str(error))
        except Exception as error:
            log.exception("offload.defect topic=%s", self._topic)
            self._failed(f"{type(error).__name__}: {error}")
        else:
            if asked:
                self.status = ProcessStatus.SUCCESS
        finally:
            self._running = False

    def _failed(self, error: str) -> None:
        self.last_error, self.failed_ms = error, self._clock.wall_ms()
        if self.status is ProcessStatus.RUNNING:
            self.status = ProcessStatus.ERROR

    async def _offload(self, ledger_ids: Sequence[int]) -> None:
        offload = self._ledger.offload()
        await offload.delete_removed()
        for ledger_id in ledger_ids:
            self.first_left = Position(ledger_id, 0)
            if self._location is None:
                return
            context = self._context(ledger_id, self._location)
            await offload.offload(ledger_id, context, self._clock.wall_ms)
            self.last_ledger_id, self.succeeded_ms = ledger_id, self._clock.wall_ms()
            log.info("offload.done topic=%s ledger=%d uid=%s", self._topic, ledger_id, context.uid)
        left = [each for each in self._ledger.layout.sealed if not ledger_rules.copied(each)]
        open_id = self._ledger.layout.open_id
        first = left[0].ledger_id if left else open_id
        self.first_left = EARLIEST if first is None else Position(first, 0)
        await offload.drop_local(self._to_drop(self._clock.wall_ms()))

    def _context(self, ledger_id: int, place: OffloadLocation) -> OffloadContext:
        uid = self._new_uid()
        return OffloadContext(
            uid,
            place.driver,
            {
                "url": place.url,
                "name": f"{self._ledger.name}/{ledger_id}-{uid}.parquet",
                "topic": str(self._topic),
                "partition": str(self._topic.partition_index),
                **{f"{OPTION}{name}": value for name, value in place.options.items()},
            },
        )
