"""Producers and what they send. Pure."""

from collections.abc import Mapping
from struct import Struct

from magnetar import inner
from magnetar.message.send_run import SendRun
from magnetar.model.producers import ProducerAccessMode
from magnetar.model.schemas import SchemaInfo
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode

from .fields import pairs, schema_of

_SEND_TAGS = [0x08, 0x10, 0x18, 0x30, 0x38, 0x40]
_SEND_TAGS_IN_TRANSACTION = [0x08, 0x10, 0x18, 0x20, 0x28, 0x30, 0x38, 0x40]
_SIZES = Struct(">II").pack


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
            metadata=pairs(metadata),
            initial_subscription_name=initial_subscription,
            producer_access_mode=pb.ProducerAccessMode.Name(access_mode),
            topic_epoch=topic_epoch,
            encrypted=encrypted or None,
            schema=schema_of(schema),
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
    marker: bool = False,
    txn: TxnId | None = None,
) -> list[bytes]:
    """One entry, as two pieces to be written one after the other."""
    # By hand, since a producer that does not batch sends one for each message.
    fields: list[int | bytes | list[bytes] | None] = [
        producer_id,
        sequence_id,
        None if num_messages == 1 else num_messages,
        highest_sequence_id,
        is_chunk or None,
        marker or None,
    ]
    if txn is None:
        send = inner.write_fields(_SEND_TAGS, fields)
    else:
        fields[3:3] = txn.least_bits, txn.most_bits
        send = inner.write_fields(_SEND_TAGS_IN_TRANSACTION, fields)
    command = b"\x08\x06\x32%c%b" % (len(send), send)
    sizes = _SIZES(10 + len(command) + len(entry), len(command))
    return [b"%b%b\x0e\x01%b" % (sizes, command, checksum.to_bytes(4)), entry]


def sends(producer_id: int, sequence_id: int, run: SendRun) -> list[bytes]:
    """One SEND for each entry of a run, with ids from this one on, as pieces to be written."""
    return inner.send_frames(producer_id, sequence_id, run.data, run.checksums, run.message_counts)


def close_producer(producer_id: int, request_id: int) -> bytes:
    return encode(pb.CommandCloseProducer(producer_id=producer_id, request_id=request_id))
