"""What the connections of clients may do."""

from magnetar.late_dataclass import dataclass

from .setting import MIB, setting


@dataclass(frozen=True, slots=True)
class ConnectionSettings:
    """What a client's connection may do, and how a dead one is noticed."""

    message_size_max: int = setting(
        "maxMessageSize",
        5 * MIB,
        "largest message in bytes, as told to clients",
        minimum=1024,
        maximum=1024 * MIB,
    )
    keep_alive_interval_s: int = setting(
        "keepAliveIntervalSeconds",
        30,
        "a silent peer is pinged after this, closed after twice this",
        minimum=1,
    )
    liveness_timeout_ms: int = setting(
        "connectionLivenessCheckTimeoutMillis",
        5000,
        "how long a client may take to answer when another claims its place",
        minimum=1,
    )
    pending_publishes_max: int = setting(
        "maxPendingPublishRequestsPerConnection",
        16_384,
        "sends of one connection not yet answered before it is no longer read",
        minimum=1,
    )
    pending_publish_bytes_max: int = setting(
        "maxPendingPublishBytesPerConnection", 32 * MIB, "the same, in bytes", minimum=1
    )
    publish_buffer_mb_max: int = setting(
        "maxMessagePublishBufferSizeInMB",
        512,
        "the same for all connections together, in MiB",
        minimum=1,
    )
    delivery_buffer_mb_max: int = setting(
        "maxMessageDeliveryBufferSizeInMB",
        512,
        "messages and answers that clients have not read yet, for all connections together, in MiB",
        minimum=1,
    )
    connections_max: int = setting(
        "brokerMaxConnections", 0, "connections at the same time; 0 is no limit"
    )
    connections_per_ip_max: int = setting(
        "brokerMaxConnectionsPerIp", 0, "the same, from one address; 0 is no limit"
    )
    admin_connections_max: int = setting(
        "maxHttpServerConnections",
        2048,
        "connections to the admin REST API at the same time; 0 is no limit",
    )
    admin_connections_per_ip_max: int = setting(
        "maxHttpServerConnectionsPerIp",
        512,
        "the same, from one address, which may be that of a proxy; 0 is no limit",
    )
    producers_max: int = setting(
        "maxProducersPerConnection", 50_000, "producers of one connection; 0 is no limit"
    )
    consumers_max: int = setting(
        "maxConsumersPerConnection", 50_000, "consumers of one connection; 0 is no limit"
    )
    topic_watchers: bool = setting(
        "enableBrokerTopicListWatcher",
        True,
        "clients may watch which topics of a namespace come and go",
    )
    # Operators cannot set these two: they let a broker serve all its clients at all times.
    requests_running_max: int = 50_000
    """Requests of all connections at once; Pulsar answers as many lookups."""
    message_ids_at_once_max: int = 2_000
    """Message ids handled before the loop serves others: a frame can have hundreds of thousands."""
