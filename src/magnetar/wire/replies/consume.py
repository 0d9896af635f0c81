"""The commands sent to a consumer: messages, answers, its end. Pure."""

from collections.abc import Sequence
from typing import Protocol

from magnetar import inner
from magnetar.errors import MagnetarError
from magnetar.late_dataclass import dataclass
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.position import Position
from magnetar.model.varint import varint
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode, encode_with_entry

from .connect import NO_REQUEST
from .message_id import UNSIGNED, message_id


@dataclass(slots=True)
class ConsumerStats:
    """What CONSUMER_STATS_RESPONSE says of a consumer. Rates are per second."""

    consumer_name: str
    address: str
    connected_since: str
    subscription_type: str  # "Exclusive", "Shared", "Failover" or "Key_Shared"
    available_permits: int  # may be negative
    unacked_messages: int
    backlog: int  # of its subscription, in entries
    blocked_on_unacked: bool = False
    message_rate_out: float = 0.0
    bytes_rate_out: float = 0.0
    message_rate_redeliver: float = 0.0
    message_rate_expired: float = 0.0
    message_ack_rate: float = 0.0


class Run(Protocol):
    """Consecutive entries of one ledger, as parallel lists: the form of the log's own runs."""

    @property
    def id_step(self) -> int:
        """From the id of one entry to the next; 0: all have the first one's."""

    ledger_id: int
    first_entry_id: int
    data: list[bytes]
    checksums: list[int]


def message_frames(
    consumer_id: int,
    run: Run,
    *,
    partition: int,
    picked: Sequence[int] | None = None,
    redelivery_counts: Sequence[int] | None = None,
    ack_sets: Sequence[Sequence[int]] | None = None,
    consumer_epoch: int | None = None,
) -> list[bytes]:
    """One MESSAGE for each entry of the run, as pieces to be written one after the other.

    Or for those ``picked``: indexes, at least one. The other sequences run parallel to what is
    sent. A redelivery count of 0, an empty ack set and an epoch of None are not sent.
    """
    count = len(run.data) if picked is None else len(picked)
    steps = () if run.id_step == 1 else (run.id_step,)
    return inner.message_frames(
        consumer_id,
        run.ledger_id,
        run.first_entry_id,
        partition,
        run.data,
        run.checksums,
        None if picked is None else list(picked),
        _behind_message_ids(count, redelivery_counts, ack_sets, consumer_epoch),
        *steps,
    )


def message(
    consumer_id: int,
    position: Position,
    *,
    partition: int,
    entry: bytes,
    checksum: int,
    redelivery_count: int = 0,
    ack_set: Sequence[int] = (),
    consumer_epoch: int | None = None,
) -> list[bytes]:
    """One message, in the plain way, as pieces to be written one after the other."""
    return encode_with_entry(
        pb.CommandMessage(
            consumer_id=consumer_id,
            message_id=message_id(*position, partition=partition),
            redelivery_count=redelivery_count or None,
            ack_set=ack_set,
            consumer_epoch=consumer_epoch,
        ),
        entry,
        checksum,
    )


def ack_response(consumer_id: int, request_id: int, error: MagnetarError | None = None) -> bytes:
    response = pb.CommandAckResponse(consumer_id=consumer_id, request_id=request_id)
    if error is not None:
        response.error = to_code(error)
        response.message = str(error)
    return encode(response)


def last_message_id(
    request_id: int, last: Position, *, partition: int, batch_index: int, mark: Position
) -> bytes:
    """``last`` of the topic, -1:-1 when it holds nothing, and the subscription's mark-delete."""
    return encode(
        pb.CommandGetLastMessageIdResponse(
            last_message_id=message_id(*last, partition=partition, batch_index=batch_index),
            request_id=request_id,
            consumer_mark_delete_position=message_id(*mark),
        )
    )


def consumer_stats(request_id: int, stats: ConsumerStats) -> bytes:
    return encode(
        pb.CommandConsumerStatsResponse(
            request_id=request_id,
            msgRateOut=stats.message_rate_out,
            msgThroughputOut=stats.bytes_rate_out,
            msgRateRedeliver=stats.message_rate_redeliver,
            consumerName=stats.consumer_name,
            availablePermits=stats.available_permits & UNSIGNED,
            unackedMessages=stats.unacked_messages,
            blockedConsumerOnUnackedMsgs=stats.blocked_on_unacked,
            address=stats.address,
            connectedSince=stats.connected_since,
            type=stats.subscription_type,
            msgRateExpired=stats.message_rate_expired,
            msgBacklog=stats.backlog,
            messageAckRate=stats.message_ack_rate,
        )
    )


def active_consumer_change(consumer_id: int, *, active: bool) -> bytes:
    return encode(pb.CommandActiveConsumerChange(consumer_id=consumer_id, is_active=active))


def reached_end_of_topic(consumer_id: int) -> bytes:
    return encode(pb.CommandReachedEndOfTopic(consumer_id=consumer_id))


def close_consumer(consumer_id: int, to: BrokerAddress | None = None) -> bytes:
    """The client is to subscribe again: at ``to``, or where it looks the topic up."""
    return encode(
        pb.CommandCloseConsumer(
            consumer_id=consumer_id,
            request_id=NO_REQUEST,
            assignedBrokerServiceUrl=None if to is None else to.service_url or None,
            assignedBrokerServiceUrlTls=None if to is None else to.service_url_tls or None,
        )
    )


def _behind_message_ids(
    count: int,
    redelivery_counts: Sequence[int] | None,
    ack_sets: Sequence[Sequence[int]] | None,
    consumer_epoch: int | None,
) -> list[bytes] | None:
    """What each MESSAGE says but for its consumer and its id; None when none says anything."""
    epoch = b"" if consumer_epoch is None else b"\x28" + varint(consumer_epoch)
    if redelivery_counts is None and ack_sets is None:
        return [epoch] * count if epoch else None
    counts = redelivery_counts or [0] * count
    words = ack_sets or [()] * count
    return [
        (b"\x18" + varint(redeliveries) if redeliveries else b"")
        + b"".join(b"\x20" + varint(word) for word in ack_set)
        + epoch
        for redeliveries, ack_set in zip(counts, words, strict=True)
    ]
