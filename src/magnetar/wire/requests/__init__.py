"""The commands a client sends, as whole frames: a file for each family of handlers. Pure."""

from magnetar.wire.replies import ping, pong

from .connect import OnBehalf, auth_response, connect
from .consume import (
    ack,
    close_consumer,
    consumer_stats,
    flow,
    last_message_id,
    redeliver,
    seek,
    subscribe,
    unsubscribe,
)
from .lookup import (
    lookup,
    partitioned_metadata,
    topics_of_namespace,
    watch_topic_list,
    watch_topic_list_close,
)
from .produce import close_producer, producer, send, sends
from .schema import get_or_create_schema, get_schema
from .transaction import (
    add_partitions,
    add_subscriptions,
    connect_coordinator,
    end_on_partition,
    end_on_subscription,
    end_transaction,
    new_transaction,
)
