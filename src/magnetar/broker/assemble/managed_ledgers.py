"""The logs of topics: managed ledgers over the stores, whichever those are."""

from collections.abc import Awaitable, Callable

from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.offload.history_offloader import HistoryOffloader
from magnetar.broker.settings.setting import MIB
from magnetar.broker.settings.storage import StorageSettings
from magnetar.model.names import TopicName
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.managed_ledger.settings import ManagedLedgerSettings
from magnetar.storage.metadata import paths
from magnetar.storage.record_log import RecordLog, open_record_log

from .build_context import BuildContext
from .stores import Stores


def managed_ledgers(
    context: BuildContext, stores: Stores, health: BrokerHealth
) -> ManagedLedgerFactory:
    """What opens the logs of topics, and those that a broker has for itself."""
    offloader = HistoryOffloader(context.clock)
    context.stack.push_async_callback(offloader.close)
    return ManagedLedgerFactory(
        metadata=stores.metadata,
        ledgers=stores.ledgers,
        codec=stores.codec,
        cache=health.cache,
        clock=context.clock,
        tasks=context.tasks,
        settings=_managed_ledger_settings(context.config.storage),
        offloader=offloader,
    )


def record_opener(
    factory: ManagedLedgerFactory,
) -> Callable[[TopicName, str], Awaitable[RecordLog]]:
    """Make the function that opens a record log, by its name and its cursor's."""

    async def open_records(name: TopicName, cursor_name: str) -> RecordLog:
        log = paths.managed_ledger_name(name)
        return await open_record_log(factory, log, cursor_name=cursor_name)

    return open_records


def _managed_ledger_settings(storage: StorageSettings) -> ManagedLedgerSettings:
    return ManagedLedgerSettings(
        entries_per_ledger_max=storage.entries_per_ledger_max,
        ledger_size_max=storage.ledger_size_mb_max * MIB,
        ledger_age_min_s=storage.ledger_age_min_minutes * 60,
        ledger_age_max_s=storage.ledger_age_max_minutes * 60,
        cache_size_max=storage.cache_mb * MIB,
        cursor_save_interval_s=1 / storage.cursor_saves_per_s,
        cursor_ranges_max=storage.cursor_ranges_max,
    )
