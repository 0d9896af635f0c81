"""The handlers of clients' commands, each given only the rooms that it uses."""

from magnetar.auth.authentication import Authentication
from magnetar.broker.handlers.client_authorization import ClientAuthorization
from magnetar.broker.handlers.connect import ConnectHandler
from magnetar.broker.handlers.consume import ConsumeHandler
from magnetar.broker.handlers.lookup import LookupHandler
from magnetar.broker.handlers.produce import ProduceHandler
from magnetar.broker.handlers.schema import SchemaHandler
from magnetar.broker.handlers.table import CommandTable
from magnetar.broker.handlers.topic_watch import TopicWatchHandler
from magnetar.broker.handlers.transaction import TransactionHandler
from magnetar.broker.handlers.transaction_end import TransactionEndHandler
from magnetar.broker.topic_watches import TopicWatches

from .access import sign_in
from .build_context import BuildContext
from .services import Services


def command_table(
    context: BuildContext,
    services: Services,
    authentication: Authentication | None,
    authorization: ClientAuthorization,
    consume: type[ConsumeHandler],
) -> CommandTable:
    """What a connection looks its commands up in."""
    settings, topics = context.config.connections, services.topics
    schemas = services.schemas
    watches = TopicWatches(services.resources, clock=context.clock, tasks=context.tasks)
    return CommandTable(
        connect=ConnectHandler(
            message_size_max=settings.message_size_max,
            topic_watchers=settings.topic_watchers,
            sign_in=None if authentication is None else sign_in(context, authentication),
        ),
        produce=ProduceHandler(
            topics,
            schemas,
            tasks=context.tasks,
            producers_max=settings.producers_max,
            transactions=context.config.transactions.enabled,
            open_events=None if services.event_logs is None else services.event_logs.open,
            authorization=authorization,
        ),
        consume=consume(
            topics,
            schemas,
            context.config.topics,
            consumers_max=settings.consumers_max,
            transactions=context.config.transactions.enabled,
            message_ids_at_once_max=settings.message_ids_at_once_max,
            authorization=authorization,
        ),
        lookup=LookupHandler(
            services.resources, services.lookup, services.creation, services.peers, authorization
        ),
        schema=SchemaHandler(
            topics, services.schema_registry, schemas, authorization=authorization
        ),
        topic_watch=TopicWatchHandler(
            watches, enabled=settings.topic_watchers, authorization=authorization
        ),
        transaction=None
        if services.coordinators is None
        else TransactionHandler(
            services.coordinators, authorization, begins=context.config.transactions.enabled
        ),
        transaction_end=None
        if services.coordinators is None
        else TransactionEndHandler(topics, authorization),
        tasks=context.tasks,
        requests_running_max=settings.requests_running_max,
    )
