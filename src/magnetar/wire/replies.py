"""The commands a broker sends, as whole frames. Pure.

Which fields are set, also where they hold their default, is what brokers of Pulsar 4.0 were seen to
send: clients differ in what they take for granted.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from magnetar import inner
from magnetar.errors import MagnetarError
from magnetar.inner.varint import varint
from magnetar.message.send_run import SendRun
from magnetar.model.position import Position
from magnetar.proto import PulsarApi_pb2 as pb

from .errors import to_code
from .frames import encode, encode_with_entry

__all__ = [
    "FEATURES",
    "NO_REQUEST",
    "ConsumerStats",
    "ack_response",
    "active_consumer_change",
    "close_consumer",
    "close_producer",
    "connected",
    "consumer_stats",
    "error",
    "get_or_create_schema",
    "get_or_create_schema_failed",
    "get_schema",
    "get_schema_failed",
    "last_message_id",
    "lookup_connect",
    "lookup_failed",
    "lookup_redirect",
    "message",
    "message_frames",
    "partitioned_metadata",
    "partitioned_metadata_failed",
    "ping",
    "pong",
    "producer_success",
    "reached_end_of_topic",
    "send_error",
    "send_errors",
    "send_receipt",
    "send_receipts",
    "success",
    "topics_of_namespace",
]

NO_REQUEST = 2**64 - 1  # the request id of what answers no request

# What a client may ask of this broker beyond its protocol version: fields of FeatureFlags.
FEATURES = ("supports_get_partitioned_metadata_without_auto_creation",)

_UNSIGNED = 2**64 - 1  # masks -1 for a field that cannot hold it: there it is 2**64 - 1


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


def connected(
    server_version: str,
    protocol_version: int,
    max_message_size: int,
    *,
    features: Iterable[str] = FEATURES,
) -> bytes:
    """``features`` names the fields of FeatureFlags to be set."""
    return encode(
        pb.CommandConnected(
            server_version=server_version,
            protocol_version=protocol_version,
            max_message_size=max_message_size,
            feature_flags=pb.FeatureFlags(**dict.fromkeys(features, True)),
        )
    )


_PING = encode(pb.CommandPing())
_PONG = encode(pb.CommandPong())


def ping() -> bytes:
    return _PING


def pong() -> bytes:
    return _PONG


def success(request_id: int) -> bytes:
    return encode(pb.CommandSuccess(request_id=request_id))


def error(request_id: int, error: MagnetarError) -> bytes:
    return encode(pb.CommandError(request_id=request_id, error=to_code(error), message=str(error)))


def lookup_connect(
    request_id: int,
    url: str,
    *,
    url_tls: str | None = None,
    authoritative: bool = True,
    proxy_through_service_url: bool = False,
) -> bytes:
    """The owner is there."""
    return encode(
        pb.CommandLookupTopicResponse(
            brokerServiceUrl=url,
            brokerServiceUrlTls=url_tls,
            response=pb.CommandLookupTopicResponse.Connect,
            request_id=request_id,
            authoritative=authoritative,
            proxy_through_service_url=proxy_through_service_url,
        )
    )


def lookup_redirect(
    request_id: int, url: str, *, url_tls: str | None = None, authoritative: bool = False
) -> bytes:
    """Ask again there."""
    return encode(
        pb.CommandLookupTopicResponse(
            brokerServiceUrl=url,
            brokerServiceUrlTls=url_tls,
            response=pb.CommandLookupTopicResponse.Redirect,
            request_id=request_id,
            authoritative=authoritative,
        )
    )


def lookup_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandLookupTopicResponse(
            response=pb.CommandLookupTopicResponse.Failed,
            request_id=request_id,
            error=to_code(error),
            message=str(error),
        )
    )


def partitioned_metadata(request_id: int, partitions: int) -> bytes:
    """``partitions`` is 0 for a topic that is not partitioned."""
    return encode(
        pb.CommandPartitionedTopicMetadataResponse(
            partitions=partitions,
            request_id=request_id,
            response=pb.CommandPartitionedTopicMetadataResponse.Success,
        )
    )


def partitioned_metadata_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandPartitionedTopicMetadataResponse(
            request_id=request_id,
            response=pb.CommandPartitionedTopicMetadataResponse.Failed,
            error=to_code(error),
            message=str(error),
        )
    )


def topics_of_namespace(
    request_id: int,
    topics: Iterable[str],
    *,
    topics_hash: str,
    filtered: bool = False,
    changed: bool = True,
) -> bytes:
    """``filtered``: the request's pattern was applied. Not ``changed``: its hash still holds."""
    return encode(
        pb.CommandGetTopicsOfNamespaceResponse(
            request_id=request_id,
            topics=topics,
            filtered=filtered,
            topics_hash=topics_hash,
            changed=changed,
        )
    )


def watch_topic_list_success(
    request_id: int, watcher_id: int, topics: Iterable[str], *, topics_hash: str
) -> bytes:
    return encode(
        pb.CommandWatchTopicListSuccess(
            request_id=request_id, watcher_id=watcher_id, topic=topics, topics_hash=topics_hash
        )
    )


def watch_topic_update(
    watcher_id: int, came: Iterable[str], went: Iterable[str], *, topics_hash: str
) -> bytes:
    """The hash is that of all topics of the watcher, as they are now."""
    return encode(
        pb.CommandWatchTopicUpdate(
            watcher_id=watcher_id, new_topics=came, deleted_topics=went, topics_hash=topics_hash
        )
    )


def producer_success(
    request_id: int,
    producer_name: str,
    last_sequence_id: int = -1,
    *,
    schema_version: bytes = b"",
    topic_epoch: int | None = None,
    producer_ready: bool = True,
) -> bytes:
    return encode(
        pb.CommandProducerSuccess(
            request_id=request_id,
            producer_name=producer_name,
            last_sequence_id=last_sequence_id,
            schema_version=schema_version,
            topic_epoch=topic_epoch,
            producer_ready=producer_ready,
        )
    )


def send_receipt(
    producer_id: int,
    sequence_id: int,
    ledger_id: int,
    entry_id: int,
    *,
    highest_sequence_id: int = 0,
) -> bytes:
    """One receipt, in the plain way. Ledger and entry -1: a duplicate, not stored again."""
    return encode(
        pb.CommandSendReceipt(
            producer_id=producer_id,
            sequence_id=sequence_id,
            message_id=pb.MessageIdData(
                ledgerId=ledger_id & _UNSIGNED, entryId=entry_id & _UNSIGNED
            ),
            highest_sequence_id=highest_sequence_id,
        )
    )


def send_error(producer_id: int, sequence_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandSendError(
            producer_id=producer_id,
            sequence_id=sequence_id,
            error=to_code(error),
            message=str(error),
        )
    )


def send_errors(run: SendRun, error: MagnetarError) -> bytes:
    """One SEND_ERROR for each send of the run."""
    return b"".join(send_error(run.producer_id, sequence, error) for sequence in run.sequences)


def send_receipts(run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, stored as consecutive entries."""
    return inner.send_receipts(
        run.producer_id, run.sequences, run.highest, ledger_id, first_entry_id
    )


def unstored_receipts(run: SendRun, ledger_id: int, entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, all with one id: none is stored."""
    return inner.send_receipts(run.producer_id, run.sequences, run.highest, ledger_id, entry_id, 0)


def close_producer(producer_id: int) -> bytes:
    """The client is to look the topic up and open its producer again."""
    return encode(pb.CommandCloseProducer(producer_id=producer_id, request_id=NO_REQUEST))


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
            message_id=pb.MessageIdData(
                ledgerId=position.ledger_id, entryId=position.entry_id, partition=partition
            ),
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
            last_message_id=pb.MessageIdData(
                ledgerId=last.ledger_id & _UNSIGNED,
                entryId=last.entry_id & _UNSIGNED,
                partition=partition,
                batch_index=batch_index,
            ),
            request_id=request_id,
            consumer_mark_delete_position=pb.MessageIdData(
                ledgerId=mark.ledger_id & _UNSIGNED, entryId=mark.entry_id & _UNSIGNED
            ),
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
            availablePermits=stats.available_permits & _UNSIGNED,
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


def close_consumer(consumer_id: int) -> bytes:
    """The client is to look the topic up and subscribe again."""
    return encode(pb.CommandCloseConsumer(consumer_id=consumer_id, request_id=NO_REQUEST))


def get_schema(
    request_id: int,
    *,
    name: str,
    data: bytes,
    kind: int,
    properties: Mapping[str, str],
    version: bytes,
) -> bytes:
    """``kind`` is a Schema.Type."""
    schema = pb.Schema(
        name=name,
        schema_data=data,
        type=pb.Schema.Type.Name(pb.Schema.Type.ValueType(kind)),
        properties=[pb.KeyValue(key=key, value=value) for key, value in properties.items()],
    )
    return encode(
        pb.CommandGetSchemaResponse(request_id=request_id, schema=schema, schema_version=version)
    )


def get_or_create_schema(request_id: int, version: bytes) -> bytes:
    return encode(
        pb.CommandGetOrCreateSchemaResponse(request_id=request_id, schema_version=version)
    )


def get_schema_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandGetSchemaResponse(
            request_id=request_id, error_code=to_code(error), error_message=str(error)
        )
    )


def get_or_create_schema_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandGetOrCreateSchemaResponse(
            request_id=request_id, error_code=to_code(error), error_message=str(error)
        )
    )
