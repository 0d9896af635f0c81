"""Which topics are the brokers' own: hidden in lists, and made by brokers only. Pure."""

from typing import Final

from magnetar.model.names import PERSISTENT, NamespaceName, TopicName

SYSTEM_NAMESPACE: Final = NamespaceName("pulsar", "system")
_CHANGE_EVENTS: Final = "__change_events"
_EVENTS: Final = frozenset(
    {
        _CHANGE_EVENTS,
        "__transaction_buffer_snapshot",
        "__transaction_buffer_snapshot_segments",
        "__transaction_buffer_snapshot_indexes",
    }
)
_OF_TOPICS: Final = ("__transaction_pending_ack", "__transaction_buffer_snapshot")
"""How the names of logs end that belong to a topic, with whose name they begin."""
COORDINATORS: Final = TopicName.parse("persistent://pulsar/system/transaction_coordinator_assign")
"""The topic whose partitions are the coordinators of transactions."""
_TRANSACTION_LOG: Final = "__transaction_log_"
_RESOURCE_USAGE: Final = "resource-usage"


def change_events(namespace: NamespaceName) -> TopicName:
    """Where a cluster keeps the policies of the topics of a namespace."""
    return TopicName(PERSISTENT, namespace.tenant, namespace.local, _CHANGE_EVENTS)


def is_change_events(topic: TopicName) -> bool:
    """Whether it is such a topic, or a partition of one."""
    return (
        topic.local.startswith(_CHANGE_EVENTS)
        and topic.persistent
        and (topic.partitioned_name.local == _CHANGE_EVENTS)
    )


def heartbeat(broker: str) -> TopicName:
    """The topic by which a broker sees whether it serves topics."""
    return TopicName(PERSISTENT, SYSTEM_NAMESPACE.tenant, broker, "healthcheck")


def heartbeat_broker(namespace: NamespaceName) -> str | None:
    """The broker, as ``host:port``, that alone serves a namespace, for its heartbeat is there."""
    mine = namespace.tenant == SYSTEM_NAMESPACE.tenant and ":" in namespace.local
    return namespace.local if mine else None


def transaction_log(coordinator: int) -> TopicName:
    """Where a coordinator keeps what it must not forget."""
    return TopicName.parse(f"persistent://{SYSTEM_NAMESPACE}/{_TRANSACTION_LOG}{coordinator}")


def is_of_transactions(topic: TopicName) -> bool:
    """Whether it is a log that only transactions read and write."""
    local = topic.partitioned_name.local
    if local.endswith(_OF_TOPICS) and local not in _EVENTS:
        return True
    return _in_system_namespace(topic) and topic.local.startswith(
        (COORDINATORS.local, _TRANSACTION_LOG)
    )


def is_system_topic(topic: TopicName) -> bool:
    """Whether only brokers make it, by its name."""
    if "__" not in topic.local and not _in_system_namespace(topic):
        return False  # As nearly all, of which lists have many.
    if topic.partitioned_name.local in _EVENTS or is_of_transactions(topic):
        return True
    return _in_system_namespace(topic) and topic.local == _RESOURCE_USAGE


def is_hidden(topic: TopicName) -> bool:
    """Whether lists for administrators leave it out, unless system topics are asked for."""
    return _in_system_namespace(topic) or is_system_topic(topic)


def _in_system_namespace(topic: TopicName) -> bool:
    return topic.tenant == SYSTEM_NAMESPACE.tenant and (
        topic.namespace_local == SYSTEM_NAMESPACE.local
    )
