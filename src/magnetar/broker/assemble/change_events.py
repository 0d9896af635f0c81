"""What keeps the policies of topics in a cluster: imported by brokers of one alone."""

from magnetar.broker.change_events.event_logs import EventLogs
from magnetar.broker.change_events.event_owners import EventOwners
from magnetar.broker.change_events.topic_policies import EventTopicPolicies
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.peers import Peers
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.storage.metadata.store import MetadataStore

from .build_context import BuildContext


def event_topic_policies(
    context: BuildContext, resources: Resources, metadata: MetadataStore
) -> EventTopicPolicies:
    """Where the policies of topics are; it is asked for none before ``serve_events``."""
    return EventTopicPolicies(resources, metadata, context.clock, context.tasks)


def serve_events(
    context: BuildContext,
    policies: EventTopicPolicies,
    *,
    topics: TopicRegistry,
    schemas: SchemaRegistry,
    resources: Resources,
    peers: Peers,
    metadata: MetadataStore,
) -> EventLogs:
    """What answers for the events of the topics that are served here."""
    logs = EventLogs(
        topics,
        schemas,
        metadata,
        context.clock,
        cluster=context.config.server.cluster,
        tasks=context.tasks,
    )
    policies.start(EventOwners(logs, resources, topics.ownership, peers, context.clock))
    return logs
