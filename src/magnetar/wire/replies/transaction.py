"""What is told of transactions: clients by their coordinator, that by topics. Pure."""

from magnetar.errors import MagnetarError
from magnetar.model.txn_id import TxnId
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode


def tc_client_connect(request_id: int) -> bytes:
    return encode(pb.CommandTcClientConnectResponse(request_id=request_id))


def tc_client_connect_failed(request_id: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandTcClientConnectResponse(
            request_id=request_id, error=to_code(error), message=str(error)
        )
    )


def new_txn(request_id: int, txn_id: TxnId) -> bytes:
    return encode(
        pb.CommandNewTxnResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
        )
    )


def new_txn_failed(request_id: int, coordinator: int, error: MagnetarError) -> bytes:
    return encode(
        pb.CommandNewTxnResponse(
            request_id=request_id,
            txnid_most_bits=coordinator,
            error=to_code(error),
            message=str(error),
        )
    )


def add_partition_to_txn(
    request_id: int, txn_id: TxnId, error: MagnetarError | None = None
) -> bytes:
    return encode(
        pb.CommandAddPartitionToTxnResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
            error=None if error is None else to_code(error),
            message=None if error is None else str(error),
        )
    )


def add_subscription_to_txn(
    request_id: int, txn_id: TxnId, error: MagnetarError | None = None
) -> bytes:
    return encode(
        pb.CommandAddSubscriptionToTxnResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
            error=None if error is None else to_code(error),
            message=None if error is None else str(error),
        )
    )


def end_txn(request_id: int, txn_id: TxnId, error: MagnetarError | None = None) -> bytes:
    return encode(
        pb.CommandEndTxnResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
            error=None if error is None else to_code(error),
            message=None if error is None else str(error),
        )
    )


def end_txn_on_partition(
    request_id: int, txn_id: TxnId, error: MagnetarError | None = None
) -> bytes:
    return encode(
        pb.CommandEndTxnOnPartitionResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
            error=None if error is None else to_code(error),
            message=None if error is None else str(error),
        )
    )


def end_txn_on_subscription(
    request_id: int, txn_id: TxnId, error: MagnetarError | None = None
) -> bytes:
    return encode(
        pb.CommandEndTxnOnSubscriptionResponse(
            request_id=request_id,
            txnid_least_bits=txn_id.least_bits,
            txnid_most_bits=txn_id.most_bits,
            error=None if error is None else to_code(error),
            message=None if error is None else str(error),
        )
    )
