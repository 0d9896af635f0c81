"""What stands on the stores, up to the topics: what handlers of commands and of routes call."""

from itertools import count
from typing import TYPE_CHECKING

from magnetar.broker.addresses import address_at, keeps_clients
from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.membership import Membership
from magnetar.broker.cluster.neighbours import Neighbours
from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.cluster.topic_logs import TopicLogs
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.dynamic_configuration import DynamicConfiguration, broker_policies
from magnetar.broker.peers import Peers
from magnetar.broker.policies import PolicyService
from magnetar.broker.remote_clusters import RemoteClusters
from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.siblings import BUNDLES
from magnetar.broker.topics.features.shared_rates import SharedRates
from magnetar.broker.topics.log.deletions import Deletions
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.broker.transactions.participants import TopicParticipants
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import BUNDLES_DEFAULT
from magnetar.model.schemas import SchemaCompatibilityStrategy
from magnetar.storage.metadata import paths

from .build_context import BuildContext
from .managed_ledgers import managed_ledgers, record_opener
from .stores import Stores, broker_health_of, schema_store
from .transactions import open_coordinators

if TYPE_CHECKING:  # Brokers of clusters alone import it.
    from magnetar.broker.change_events.event_logs import EventLogs


@dataclass(frozen=True, slots=True)
class Services:
    """What handlers of commands, and of the admin API, are made of."""

    address: BrokerAddress
    health: BrokerHealth
    resources: Resources
    policies: PolicyService
    resource_groups: ResourceGroups
    configuration: DynamicConfiguration
    creation: Creation
    topics: TopicRegistry
    remote: RemoteClusters
    lookup: Lookup
    member: Membership
    brokers: Brokers
    peers: Peers
    schema_registry: SchemaRegistry
    schemas: TopicSchemas
    coordinators: Coordinators | None  # None: there never were transactions.
    event_logs: "EventLogs | None" = None  # None: policies of topics are records.


async def open_services(context: BuildContext, address: BrokerAddress, stores: Stores) -> Services:
    """What stands on the stores, up to the topics."""
    config = context.config
    cluster = config.server.cluster
    metadata, codec = stores.metadata, stores.codec
    health = broker_health_of(context, stores)
    resources = Resources(metadata, cluster, codec=codec)
    context.stack.callback(resources.close)
    await _ensure_defaults(context, resources, address)
    events = None
    if stores.change_events:
        from .change_events import event_topic_policies, serve_events  # noqa: PLC0415 - as it says

        events = event_topic_policies(context, resources, metadata)
    policies = PolicyService(
        resources,
        metadata,
        broker=broker_policies(config.policies, config.rates, config.offload),
        tasks=context.tasks,
        topic_level=config.policies.topic_level,
        of_topics=events,
    )
    context.stack.callback(policies.close)
    resource_groups = ResourceGroups(metadata, resources, context.tasks, codec=codec)
    context.stack.callback(resource_groups.close)
    schemas = SchemaRegistry(schema_store(config, stores), context.clock)
    context.stack.callback(schemas.close)
    creation = Creation(resources, policies, partitions_max=config.policies.partitions_max)
    configuration = DynamicConfiguration(
        config, resources.objects, policies, creation, metadata=metadata, tasks=context.tasks
    )
    context.stack.callback(configuration.close)
    await configuration.load()
    ledgers = managed_ledgers(context, stores, health)
    open_records = record_opener(ledgers)
    member = Membership(metadata, address, codec, context.clock, context.tasks)
    ownership, brokers = Ownership(member), Brokers(member)
    context.stack.callback(brokers.close)
    await brokers.register()
    context.stack.push_async_callback(brokers.unregister)
    files = {name: str(file) for name, file in config.tls.client_files.items() if config.tls.client}
    peers = Peers(
        address, config.auth.client_settings | files, context.clock, tls=config.tls.client
    )
    context.stack.push_async_callback(peers.close)
    neighbours = _neighbours(context, member, brokers, peers)
    # Producers keep the names they were given over a restart: new ones must differ from them.
    starts, numbers = await metadata.put(paths.STARTS, b""), count()
    deleted = [
        schemas.topic_deleted,
        policies.topic_deleted,
        Permissions(resources).topic_deleted,
    ]
    remote = RemoteClusters(
        cluster,
        resources,
        schemas,
        metadata=metadata,
        settings=config.replication,
        client=config.auth.client_settings | files,
        tls=config.tls.client,
        clock=context.clock,
    )
    context.stack.push_async_callback(remote.close)
    topics = TopicRegistry(
        resources=resources,
        ownership=ownership,
        logs=TopicLogs(ledgers, health.logs.__getitem__, begins_early=config.metadata.in_cluster),
        creation=creation,
        policies=policies,
        deletions=Deletions(metadata, codec=codec),
        settings=config.topics,
        clock=context.clock,
        iteration=context.iteration,
        producer_name=lambda: f"{cluster}-{starts}-{next(numbers)}",
        open_records=open_records,
        shared_rates=SharedRates(
            resource_groups,
            context.clock,
            publish=config.rates.shared_publish,
            dispatch=config.rates.shared_dispatch,
        ),
        clusters=remote.topics,
        entry_size_max=config.bookkeeper.entry_size_max if config.metadata.in_cluster else 0,
        deleted=deleted,
    )
    event_logs = None
    if events is not None:
        creation.makes_change_events = True
        event_logs = serve_events(
            context,
            events,
            topics=topics,
            schemas=schemas,
            resources=resources,
            peers=peers,
            metadata=metadata,
        )
        deleted.append(event_logs.topic_deleted)
    await topics.finish_deletions()
    kept = not stores.load_balanced and keeps_clients(config.server, address)
    lookup = Lookup(resources, ownership, kept=kept)
    if neighbours is not None:
        await neighbours.met()
    return Services(
        address=address,
        health=health,
        resources=resources,
        policies=policies,
        resource_groups=resource_groups,
        configuration=configuration,
        creation=creation,
        topics=topics,
        remote=remote,
        lookup=lookup,
        member=member,
        brokers=brokers,
        peers=peers,
        schema_registry=schemas,
        schemas=TopicSchemas(
            schemas,
            policies,
            system=SchemaCompatibilityStrategy(config.policies.system_schema_compatibility),
        ),
        event_logs=event_logs,
        coordinators=await open_coordinators(
            context,
            open_records,
            resources,
            topics,
            TopicParticipants(topics, lookup, peers),
            peers=peers,
        ),
    )


async def _ensure_defaults(
    context: BuildContext, resources: Resources, address: BrokerAddress
) -> None:
    """The cluster is where all of its processes are reached."""
    config, sibling = context.config, context.sibling
    here = address if sibling is None else address_at(config.server, sibling.shared)
    await resources.ensure_defaults(
        config.server.cluster,
        *(here.web_url, here.service_url, here.web_url_tls, here.service_url_tls),
        alone=not config.metadata.in_cluster,
        bundles=BUNDLES_DEFAULT if sibling is None else BUNDLES * sibling.count,
    )


def _neighbours(
    context: BuildContext, member: Membership, brokers: Brokers, peers: Peers
) -> Neighbours | None:
    """The other brokers; None of siblings, as one that dies is replaced before it is missed."""
    if context.sibling is not None:
        return None
    neighbours = Neighbours(member, brokers, connect=peers.connect, refuses=peers.refuses)
    context.stack.callback(neighbours.close)
    neighbours.start()
    return neighbours
