"""Transactions: what their coordinators are asked. Pure."""

from collections.abc import Iterable
from typing import Final

from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode

TTL_MS_MAX: Final = 2**63 - 1


def connect_coordinator(coordinator: int, request_id: int) -> bytes:
    """Ask the broker whether it has this coordinator, before anything else is asked of it."""
    return encode(pb.CommandTcClientConnectRequest(request_id=request_id, tc_id=coordinator))


def new_transaction(coordinator: int, ttl_ms: int, request_id: int) -> bytes:
    return encode(
        pb.CommandNewTxn(
            request_id=request_id, tc_id=coordinator, txn_ttl_millis=min(ttl_ms, TTL_MS_MAX)
        )
    )


def add_partitions(txn: TxnId, topics: Iterable[str], request_id: int) -> bytes:
    """Tell the coordinator where the transaction sends to."""
    return encode(
        pb.CommandAddPartitionToTxn(
            request_id=request_id,
            txnid_most_bits=txn.most_bits,
            txnid_least_bits=txn.least_bits,
            partitions=topics,
        )
    )


def add_subscriptions(
    txn: TxnId, subscriptions: Iterable[tuple[str, str]], request_id: int
) -> bytes:
    """Tell the coordinator where the transaction acknowledges: topics, and subscriptions there."""
    return encode(
        pb.CommandAddSubscriptionToTxn(
            request_id=request_id,
            txnid_most_bits=txn.most_bits,
            txnid_least_bits=txn.least_bits,
            subscription=[
                pb.Subscription(topic=topic, subscription=name) for topic, name in subscriptions
            ],
        )
    )


def end_transaction(txn: TxnId, request_id: int, *, commit: bool) -> bytes:
    return encode(
        pb.CommandEndTxn(
            request_id=request_id,
            txnid_most_bits=txn.most_bits,
            txnid_least_bits=txn.least_bits,
            txn_action=pb.TxnAction.COMMIT if commit else pb.TxnAction.ABORT,
        )
    )


def end_on_partition(
    txn: TxnId, topic: str, low_watermark: int, request_id: int, *, commit: bool
) -> bytes:
    """Tell the owner of a topic how a transaction ends that publishes there.

    ``low_watermark``: the coordinator's transactions up to this number have ended; -1: none has.
    """
    return encode(
        pb.CommandEndTxnOnPartition(
            request_id=request_id,
            txnid_most_bits=txn.most_bits,
            txnid_least_bits=txn.least_bits,
            topic=topic,
            txn_action=pb.TxnAction.COMMIT if commit else pb.TxnAction.ABORT,
            txnid_least_bits_of_low_watermark=low_watermark % 2**64,
        )
    )


def end_on_subscription(
    txn: TxnId,
    topic: str,
    subscription: str,
    low_watermark: int,
    request_id: int,
    *,
    commit: bool,
) -> bytes:
    """The same, to the owner of a topic in whose subscription it acknowledges."""
    return encode(
        pb.CommandEndTxnOnSubscription(
            request_id=request_id,
            txnid_most_bits=txn.most_bits,
            txnid_least_bits=txn.least_bits,
            subscription=pb.Subscription(topic=topic, subscription=subscription),
            txn_action=pb.TxnAction.COMMIT if commit else pb.TxnAction.ABORT,
            txnid_least_bits_of_low_watermark=low_watermark % 2**64,
        )
    )
