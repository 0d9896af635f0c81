"""Consumers: what they subscribe to, take, acknowledge and ask for again. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from magnetar.model.position import MessageId, Position
from magnetar.model.schemas import SchemaInfo
from magnetar.model.subscriptions import InitialPosition, KeySharedPolicy, SubscriptionType
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode

from .fields import pairs, schema_of

_UNSIGNED = 2**64 - 1  # masks -1 for a field that cannot hold it: there it is 2**64 - 1


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
            metadata=pairs(metadata),
            initialPosition=cast("pb.CommandSubscribe.InitialPosition", initial_position),
            force_topic_creation=force_topic_creation,
            subscription_properties=pairs(subscription_properties),
            consumer_epoch=consumer_epoch,
            read_compacted=read_compacted or None,
            keySharedMeta=None if key_shared_policy is None else _key_shared(key_shared_policy),
            replicate_subscription_state=replicate_state,
            schema=schema_of(schema),
        )
    )


def _key_shared(policy: KeySharedPolicy) -> pb.KeySharedMeta:
    ranges = policy.sticky_ranges or ()
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
    batch_sizes: Sequence[int] = (),
    cumulative: bool = False,
    validation_error: int | None = None,
    txn: TxnId | None = None,
    request_id: int | None = None,
) -> bytes:
    """Entries are acknowledged; with ``cumulative`` one position, and all before it.

    ``ack_sets`` run parallel to the positions: words of the bits still *not* acknowledged, [] for a
    whole entry; so do ``batch_sizes``, which a transaction tells with them, 0 for a whole entry.
    ``validation_error`` says why the entries are of no use to the consumer. Only with
    ``request_id`` does an answer come.
    """
    # Entry -1 is the place before a ledger's first entry: a cumulative one may name it.
    ids = [
        pb.MessageIdData(ledgerId=ledger & _UNSIGNED, entryId=entry & _UNSIGNED)
        for ledger, entry in positions
    ]
    for message_id, words in zip(ids, ack_sets or (), strict=ack_sets is not None):
        message_id.ack_set.extend(words)
    for message_id, size in zip(ids, batch_sizes, strict=False):
        if size:
            message_id.batch_size = size
    kinds = pb.CommandAck
    return encode(
        pb.CommandAck(
            consumer_id=consumer_id,
            ack_type=kinds.Cumulative if cumulative else kinds.Individual,
            message_id=ids,
            validation_error=cast("pb.CommandAck.ValidationError | None", validation_error),
            txnid_most_bits=None if txn is None else txn.most_bits,
            txnid_least_bits=None if txn is None else txn.least_bits,
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
