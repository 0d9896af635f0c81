"""The commands sent to a producer: receipts, errors, its end. Pure."""

from magnetar import inner
from magnetar.errors import MagnetarError
from magnetar.message.send_run import SendRun
from magnetar.model.broker_address import BrokerAddress
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode

from .connect import NO_REQUEST
from .message_id import message_id


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
            message_id=message_id(ledger_id, entry_id),
            highest_sequence_id=highest_sequence_id,
        )
    )


def send_receipts(run: SendRun, ledger_id: int, first_entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, stored as consecutive entries."""
    return inner.send_receipts(
        run.producer_id, run.sequences, run.highest, ledger_id, first_entry_id
    )


def unstored_receipts(run: SendRun, ledger_id: int, entry_id: int) -> bytes:
    """One SEND_RECEIPT for each send of the run, all with one id: none is stored."""
    return inner.send_receipts(run.producer_id, run.sequences, run.highest, ledger_id, entry_id, 0)


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


def close_producer(producer_id: int, to: BrokerAddress | None = None) -> bytes:
    """The client is to open its producer again: at ``to``, or where it looks the topic up."""
    return encode(
        pb.CommandCloseProducer(
            producer_id=producer_id,
            request_id=NO_REQUEST,
            assignedBrokerServiceUrl=None if to is None else to.service_url or None,
            assignedBrokerServiceUrlTls=None if to is None else to.service_url_tls or None,
        )
    )
