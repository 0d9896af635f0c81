"""The coordinators of transactions, where there are any."""

from collections.abc import Awaitable, Callable
from typing import Final

from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.resources import Resources
from magnetar.broker.transactions.coordinator import Participants
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.model.names import TopicName
from magnetar.storage.record_log import RecordLog

from .build_context import BuildContext

_CURSOR: Final = "transaction.subscription"


async def open_coordinators(
    context: BuildContext,
    open_records: Callable[[TopicName, str], Awaitable[RecordLog]],
    resources: Resources,
    topics: TopicRegistry,
    participants: Participants,
) -> Coordinators | None:
    """What serves the coordinators; None where transactions are off."""
    settings = context.config.transactions
    if not settings.enabled:
        return None
    coordinators = Coordinators(
        resources=resources,
        ownership=topics.ownership,
        open_log=lambda name: open_records(name, _CURSOR),
        participants=participants,
        active_max=settings.active_max,
        clock=context.clock,
        iteration=context.iteration,
    )
    context.stack.push_async_callback(coordinators.close)
    topics.served_along = coordinators
    await coordinators.start(settings.coordinators)
    return coordinators
