"""The coordinators of transactions, where there are any."""

from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.resources import Resources
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.participants import TopicParticipants
from magnetar.model.names import TopicName
from magnetar.storage.managed_ledger.managed_ledger_factory import ManagedLedgerFactory
from magnetar.storage.metadata import paths
from magnetar.storage.record_log import RecordLog, open_record_log

from .build_context import BuildContext

_CURSOR = "transaction.subscription"


async def open_coordinators(
    context: BuildContext,
    ledgers: ManagedLedgerFactory,
    resources: Resources,
    topics: TopicRegistry,
    lookup: Lookup,
) -> Coordinators | None:
    """What serves the coordinators; None where transactions are off."""
    settings = context.config.transactions
    if not settings.enabled:
        return None

    async def open_log(name: TopicName) -> RecordLog:
        return await open_record_log(ledgers, paths.managed_ledger_name(name), cursor_name=_CURSOR)

    coordinators = Coordinators(
        resources=resources,
        ownership=topics.ownership,
        open_log=open_log,
        participants=TopicParticipants(topics, lookup),
        active_max=settings.active_max,
        clock=context.clock,
        iteration=context.iteration,
    )
    context.stack.push_async_callback(coordinators.close)
    topics.served_along = coordinators
    await coordinators.start(settings.coordinators)
    return coordinators
