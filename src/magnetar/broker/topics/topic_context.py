"""What all topics of a broker share."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from typing import Final
from uuid import uuid4

from magnetar.broker.topics.features.shared_rates import SharedRates
from magnetar.broker.topics.remote_topic import OtherClusters
from magnetar.broker.topics.settings import TopicSettings
from magnetar.clock import Clock
from magnetar.late_dataclass import dataclass
from magnetar.loop_iteration import LoopIteration
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId
from magnetar.storage.record_log import RecordLog

OFFLOADS_AT_ONCE_MAX: Final = 1
"""Topics of a broker of which ledgers are copied at the same time."""


@dataclass(slots=True)
class TopicContext:
    """Handed to every topic when it is opened."""

    settings: TopicSettings
    clock: Clock
    iteration: LoopIteration
    producer_name: Callable[[], str]
    """Makes up a name for a producer that has none."""
    open_records: Callable[[TopicName, str], Awaitable[RecordLog]] | None = None
    """Opens a record log, by its name and its cursor's; None where there are no transactions."""
    take_part: Callable[[TxnId, TopicName, str | None], Awaitable[bool]] | None = None
    """Has the coordinator of a transaction tell a topic, or a subscription of it, of the end.

    False: it knows of no such transaction. Raises what keeps it from saying so."""
    shared_rates: SharedRates | None = None
    clusters: OtherClusters | None = None
    """Those that topics may be replicated to."""
    entry_size_max: int = 0
    """The bytes of an entry that can be stored; 0: as many as clients may send."""
    new_uid: Callable[[], str] = lambda: uuid4().hex
    """Names a copy of a ledger that is offloaded."""
    compactions: asyncio.Semaphore = field(init=False)
    offloads: asyncio.Semaphore = field(init=False)
    """Places for the topics that are compacted, and offloaded, at the same time."""

    def __post_init__(self) -> None:
        self.compactions = asyncio.Semaphore(self.settings.compactions_at_once_max)
        self.offloads = asyncio.Semaphore(OFFLOADS_AT_ONCE_MAX)
