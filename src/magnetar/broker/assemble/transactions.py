"""The coordinators of transactions, where there are any."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.resources import Resources
from magnetar.broker.transactions.coordinator import Participants
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.participants import Peers
from magnetar.model.names import TopicName
from magnetar.model.system_topics import COORDINATORS
from magnetar.storage.record_log import RecordLog

from .build_context import BuildContext

log = logging.getLogger(__name__)

_CURSOR: Final = "transaction.subscription"


async def open_coordinators(
    context: BuildContext,
    open_records: Callable[[TopicName, str], Awaitable[RecordLog]],
    resources: Resources,
    topics: TopicRegistry,
    participants: Participants,
    *,
    peers: Peers,
) -> Coordinators | None:
    """What serves the coordinators; None where transactions are off and always were.

    Where they were switched off, what is open is ended: by its client, by its time, or by an
    administrator.
    """
    settings = context.config.transactions
    if not settings.enabled and not await resources.partitions(COORDINATORS):
        return None
    coordinators = Coordinators(
        resources=resources,
        ownership=topics.ownership,
        open_log=lambda name: open_records(name, _CURSOR),
        participants=participants,
        peers=peers,
        active_max=settings.active_max,
        clock=context.clock,
        iteration=context.iteration,
    )
    context.stack.push_async_callback(coordinators.close)
    topics.served_along = coordinators
    topics.ask_coordinators(coordinators.take_part)
    await coordinators.start(settings.coordinators if settings.enabled else 0)
    if not settings.enabled:
        _warn(coordinators)
    return coordinators


def _warn(coordinators: Coordinators) -> None:
    for number, coordinator in coordinators.loaded.items():
        if coordinator.transactions:
            log.warning(
                "transactions.off coordinator=%d open=%d: transactionCoordinatorEnabled=false, and "
                "readers wait for these until they end, by their time or by `magnetar admin "
                "transactions abort-transaction`",
                number,
                len(coordinator.transactions),
            )
