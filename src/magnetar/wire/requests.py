"""The commands a client sends, as whole frames. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import cast

from magnetar import inner
from magnetar.model.position import MessageId, Position
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.schemas import SchemaInfo
from magnetar.model.subscriptions import (
    InitialPosition,
    KeySharedPolicy,
    RegexSubscriptionMode,
    SubscriptionType,
)
from magnetar.proto import PulsarApi_pb2 as pb

from .frames import encode
from .replies import ping, pong

__all__ = [
    "ack",
    "close_consumer",
    "close_producer",
    "connect",
    "consumer_stats",
    "flow",
    "get_or_create_schema",
    "get_schema",
    "last_message_id",
    "lookup",
    "partitioned_metadata",
    "ping",
    "pong",
    "producer",
    "redeliver",
    "seek",
    "send",
    "subscribe",
    "topics_of_namespace",
    "unsubscribe",
    "watch_topic_list",
    "watch_topic_list_close",
]

_UNSIGNED = 2**64 - 1  # masks -1 for a field that cannot hold it: there it is 2**64 - 1
_SEND_TAGS = [0x08, 0x10, 0x18, 0x30, 0x38]
_SIZES = Struct(">II").pack


def connect(
    client_version: str,
    protocol_version: int,
    *,
    features: Iterable[str] = (),
    proxy_to_broker_url: str | None = None,
    auth_method: str = "none",
    auth_data: bytes | None = None,
) -> bytes:
    """``features`` names the fields of FeatureFlags to be set."""
    return encode(
        pb.CommandConnect(
            client_version=client_version,
            protocol_version=protocol_version,
            auth_method_name=auth_method,
            auth_data=auth_data,
            proxy_to_broker_url=proxy_to_broker_url,
            feature_flags=pb.FeatureFlags(**dict.fromkeys(features, True)),
        )
    )


def auth_response(
    client_version: str, protocol_version: int, auth_method: str, auth_data: bytes
) -> bytes:
    return encode(
        pb.CommandAuthResponse(
            client_version=client_version,
            response=pb.AuthData(auth_method_name=auth_method, auth_data=auth_data),
            protocol_version=protocol_version,
        )
    )


def lookup(
    request_id: int, topic: str, *, authoritative: bool = False, listener_name: str | None = None
) -> bytes:
    """``authoritative``: as the redirection that led here said."""
    return encode(
        pb.CommandLookupTopic(
            topic=topic,
            request_id=request_id,
            authoritative=authoritative,
            advertised_listener_name=listener_name,
        )
    )


def partitioned_metadata(request_id: int, topic: str, *, auto_create: bool = True) -> bytes:
    return encode(
        pb.CommandPartitionedTopicMetadata(
            topic=topic, request_id=request_id, metadata_auto_creation_enabled=auto_create
        )
    )


def topics_of_namespace(
    request_id: int,
    namespace: str,
    *,
    mode: RegexSubscriptionMode = RegexSubscriptionMode.PERSISTENT_ONLY,
    pattern: str | None = None,
    topics_hash: str | None = None,
) -> bytes:
    """With the hash of an earlier answer, only if they have changed."""
    return encode(
        pb.CommandGetTopicsOfNamespace(
            request_id=request_id,
            namespace=namespace,
            mode=cast("pb.CommandGetTopicsOfNamespace.Mode", mode),
            topics_pattern=pattern,
            topics_hash=topics_hash,
        )
    )


def watch_topic_list(request_id: int, watcher_id: int, namespace: str, pattern: str) -> bytes:
    """Answered with the list, and from then on with WATCH_TOPIC_UPDATE."""
    return encode(
        pb.CommandWatchTopicList(
            request_id=request_id,
            watcher_id=watcher_id,
            namespace=namespace,
            topics_pattern=pattern,
        )
    )


def watch_topic_list_close(watcher_id: int, request_id: int) -> bytes:
    return encode(pb.CommandWatchTopicListClose(watcher_id=watcher_id, request_id=request_id))


def producer(
    producer_id: int,
    request_id: int,
    topic: str,
    *,
    name: str | None = None,
    user_provided_name: bool = True,
    epoch: int = 0,
    metadata: Mapping[str, str] | None = None,
    initial_subscription: str | None = None,
    access_mode: ProducerAccessMode = ProducerAccessMode.SHARED,
    topic_epoch: int | None = None,
    encrypted: bool = False,
    schema: SchemaInfo | None = None,
) -> bytes:
    """``epoch`` rises with each reconnection, so that the broker lets go of what was before.

    ``topic_epoch`` is what the broker gave the producer when it became the owner of the topic.
    """
    return encode(
        pb.CommandProducer(
            topic=topic,
            producer_id=producer_id,
            request_id=request_id,
            producer_name=name,
            user_provided_producer_name=user_provided_name,
            epoch=epoch,
            metadata=_pairs(metadata),
            initial_subscription_name=initial_subscription,
            producer_access_mode=pb.ProducerAccessMode.Name(access_mode),
            topic_epoch=topic_epoch,
            encrypted=encrypted or None,
            schema=_schema(schema),
        )
    )


def send(
    producer_id: int,
    sequence_id: int,
    entry: bytes,
    checksum: int,
    *,
    num_messages: int = 1,
    highest_sequence_id: int | None = None,
    is_chunk: bool = False,
) -> list[bytes]:
    """One entry, as two pieces to be written one after the other."""
    # By hand, since a producer that does not batch sends one for each message.
    send = inner.write_fields(
        _SEND_TAGS,
        [
            producer_id,
            sequence_id,
            None if num_messages == 1 else num_messages,
            highest_sequence_id,
            is_chunk or None,
        ],
    )
    command = b"\x08\x06\x32%c%b" % (len(send), send)
    sizes = _SIZES(10 + len(command) + len(entry), len(command))
    return [b"%b%b\x0e\x01%b" % (sizes, command, checksum.to_bytes(4)), entry]


def close_producer(producer_id: int, request_id: int) -> bytes:
    return encode(pb.CommandCloseProducer(producer_id=producer_id, request_id=request_id))


def subscribe(
    consumer_id: int,
    request_id: int,
    topic: str,
    subscription: str,
    type: SubscriptionType,  # noqa: A002 - Pulsar's word for it
    *,
    consumer_name: str | None = None,
    priority_level: int | None = None,
    durable: bool = True,
    initial_position: InitialPosition = InitialPosition.LATEST,
    start: MessageId | None = None,
    force_topic_creation: bool = True,
    metadata: Mapping[str, str] | None = None,
    subscription_properties: Mapping[str, str] | None = None,
    consumer_epoch: int | None = None,
    read_compacted: bool = False,
    key_shared_policy: KeySharedPolicy | None = None,
    replicate_state: bool | None = None,
    schema: SchemaInfo | None = None,
) -> bytes:
    """``start`` is for a subscription that is not durable: the message it begins at."""
    return encode(
        pb.CommandSubscribe(
            topic=topic,
            subscription=subscription,
            subType=cast("pb.CommandSubscribe.SubType", type),
            consumer_id=consumer_id,
            request_id=request_id,
            consumer_name=consumer_name,
            priority_level=priority_level,
            durable=durable,
            start_message_id=None if start is None else _message_id(start),
            metadata=_pairs(metadata),
            initialPosition=cast("pb.CommandSubscribe.InitialPosition", initial_position),
            force_topic_creation=force_topic_creation,
            subscription_properties=_pairs(subscription_properties),
            consumer_epoch=consumer_epoch,
            read_compacted=read_compacted or None,
            keySharedMeta=None if key_shared_policy is None else _key_shared(key_shared_policy),
            replicate_subscription_state=replicate_state,
            schema=_schema(schema),
        )
    )


def _key_shared(policy: KeySharedPolicy) -> pb.KeySharedMeta:
    ranges = policy.sticky_ranges
    return pb.KeySharedMeta(
        keySharedMode=pb.KeySharedMode.STICKY if ranges else pb.KeySharedMode.AUTO_SPLIT,
        hashRanges=[pb.IntRange(start=start, end=end) for start, end in ranges],
        allowOutOfOrderDelivery=policy.allow_out_of_order_delivery,
    )


def flow(consumer_id: int, permits: int) -> bytes:
    """``permits`` more messages may come; at least 1."""
    return encode(pb.CommandFlow(consumer_id=consumer_id, messagePermits=permits))


def ack(
    consumer_id: int,
    positions: Iterable[Position],
    *,
    ack_sets: Sequence[Sequence[int]] | None = None,
    cumulative: bool = False,
    validation_error: int | None = None,
    request_id: int | None = None,
) -> bytes:
    """Entries are acknowledged; with ``cumulative`` one position, and all before it.

    ``ack_sets`` run parallel to the positions: words of the bits still *not* acknowledged, [] for a
    whole entry. ``validation_error`` says why the entries are of no use to the consumer. Only with
    ``request_id`` does an answer come.
    """
    # Entry -1 is the place before a ledger's first entry: a cumulative one may name it.
    ids = [
        pb.MessageIdData(ledgerId=ledger & _UNSIGNED, entryId=entry & _UNSIGNED)
        for ledger, entry in positions
    ]
    for message_id, words in zip(ids, ack_sets or (), strict=ack_sets is not None):
        message_id.ack_set.extend(words)
    kinds = pb.CommandAck
    return encode(
        pb.CommandAck(
            consumer_id=consumer_id,
            ack_type=kinds.Cumulative if cumulative else kinds.Individual,
            message_id=ids,
            validation_error=cast("pb.CommandAck.ValidationError | None", validation_error),
            request_id=request_id,
        )
    )


def redeliver(
    consumer_id: int, positions: Iterable[Position] | None, *, consumer_epoch: int | None = None
) -> bytes:
    """Deliver these entries again; None for all that the consumer has not acknowledged."""
    return encode(
        pb.CommandRedeliverUnacknowledgedMessages(
            consumer_id=consumer_id,
            message_ids=[
                pb.MessageIdData(ledgerId=ledger, entryId=entry)
                for ledger, entry in positions or ()
            ],
            consumer_epoch=consumer_epoch,
        )
    )


def unsubscribe(consumer_id: int, request_id: int, *, force: bool = False) -> bytes:
    return encode(
        pb.CommandUnsubscribe(consumer_id=consumer_id, request_id=request_id, force=force or None)
    )


def seek(
    consumer_id: int,
    request_id: int,
    *,
    message_id: MessageId | None = None,
    publish_time_ms: int | None = None,
) -> bytes:
    """Begin again at an entry, or at the first one published at or after a time."""
    return encode(
        pb.CommandSeek(
            consumer_id=consumer_id,
            request_id=request_id,
            message_id=None if message_id is None else _message_id(message_id),
            message_publish_time=publish_time_ms,
        )
    )


def last_message_id(consumer_id: int, request_id: int) -> bytes:
    return encode(pb.CommandGetLastMessageId(consumer_id=consumer_id, request_id=request_id))


def get_schema(request_id: int, topic: str, version: bytes | None = None) -> bytes:
    """One version of a topic's schema; None for the latest."""
    return encode(pb.CommandGetSchema(request_id=request_id, topic=topic, schema_version=version))


def get_or_create_schema(request_id: int, topic: str, schema: SchemaInfo) -> bytes:
    """The version under which a topic has a schema, from now on if not before."""
    return encode(
        pb.CommandGetOrCreateSchema(request_id=request_id, topic=topic, schema=_schema(schema))
    )


def consumer_stats(consumer_id: int, request_id: int) -> bytes:
    return encode(pb.CommandConsumerStats(request_id=request_id, consumer_id=consumer_id))


def close_consumer(consumer_id: int, request_id: int) -> bytes:
    return encode(pb.CommandCloseConsumer(consumer_id=consumer_id, request_id=request_id))


def _message_id(message_id: MessageId) -> pb.MessageIdData:
    batched = message_id.batch_index >= 0
    return pb.MessageIdData(
        ledgerId=message_id.ledger_id & _UNSIGNED,
        entryId=message_id.entry_id & _UNSIGNED,
        partition=message_id.partition if message_id.partition >= 0 else None,
        batch_index=message_id.batch_index if batched else None,
        batch_size=message_id.batch_size if batched else None,
    )


def _schema(schema: SchemaInfo | None) -> pb.Schema | None:
    if schema is None:
        return None
    return pb.Schema(
        name=schema.type.name,
        schema_data=schema.data,
        type=cast("pb.Schema.Type", schema.type),
        properties=_pairs(schema.properties),
    )


def _pairs(mapping: Mapping[str, str] | None) -> list[pb.KeyValue]:
    return [pb.KeyValue(key=key, value=value) for key, value in (mapping or {}).items()]
