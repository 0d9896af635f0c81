"""The commands a broker sends, as whole frames: a file for each family of handlers. Pure.

Which fields are set, also where they hold their default, is what brokers of Pulsar 4.0 were seen to
send: clients differ in what they take for granted.
"""

from .connect import FEATURES, NO_REQUEST, connected, error, ping, pong, success
from .consume import (
    ConsumerStats,
    ack_response,
    active_consumer_change,
    close_consumer,
    consumer_stats,
    last_message_id,
    message,
    message_frames,
    reached_end_of_topic,
)
from .lookup import (
    lookup_connect,
    lookup_failed,
    lookup_redirect,
    partitioned_metadata,
    partitioned_metadata_failed,
    topics_of_namespace,
    watch_topic_list_success,
    watch_topic_update,
)
from .produce import (
    close_producer,
    producer_success,
    send_error,
    send_errors,
    send_receipt,
    send_receipts,
    unstored_receipts,
)
from .schema import get_or_create_schema, get_or_create_schema_failed, get_schema, get_schema_failed
from .transaction import (
    add_partition_to_txn,
    add_subscription_to_txn,
    end_txn,
    end_txn_on_partition,
    end_txn_on_subscription,
    new_txn,
    new_txn_failed,
    tc_client_connect,
    tc_client_connect_failed,
)
