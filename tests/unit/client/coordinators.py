"""Transaction coordinators at the scripted peer: they number transactions, and tell of them."""

from collections.abc import Callable

from unit.client.peer import Peer, PeerConnection, Script

from magnetar.errors import MagnetarError
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand
from magnetar.wire.errors import to_code
from magnetar.wire.frames import Frame, encode

FIELDS = {
    BaseCommand.TC_CLIENT_CONNECT_REQUEST: (
        "tcClientConnectRequest",
        pb.CommandTcClientConnectResponse,
    ),
    BaseCommand.NEW_TXN: ("newTxn", pb.CommandNewTxnResponse),
    BaseCommand.ADD_PARTITION_TO_TXN: ("addPartitionToTxn", pb.CommandAddPartitionToTxnResponse),
    BaseCommand.ADD_SUBSCRIPTION_TO_TXN: (
        "addSubscriptionToTxn",
        pb.CommandAddSubscriptionToTxnResponse,
    ),
    BaseCommand.END_TXN: ("endTxn", pb.CommandEndTxnResponse),
}


class PeerCoordinators:
    """What transactions ask the peer, which plays all their coordinators."""

    def __init__(self, peer: Peer, count: int = 1) -> None:
        self.peer = peer
        self.count = count
        self.begun = 0
        peer._always[BaseCommand.PARTITIONED_METADATA] = self._metadata
        for kind in FIELDS:
            peer._always[kind] = grant
        peer._always[BaseCommand.NEW_TXN] = self._begin
        peer._always[BaseCommand.ACK] = acknowledge

    def ends(self) -> list[tuple[int, int]]:
        """The transactions that were ended, and how: 0 committed, 1 aborted."""
        ends = [command.endTxn for command in self.peer.of(BaseCommand.END_TXN)]
        return [(end.txnid_least_bits, end.txn_action) for end in ends]

    def partitions(self) -> list[str]:
        return [
            topic
            for command in self.peer.of(BaseCommand.ADD_PARTITION_TO_TXN)
            for topic in command.addPartitionToTxn.partitions
        ]

    def subscriptions(self) -> list[tuple[str, str]]:
        return [
            (each.topic, each.subscription)
            for command in self.peer.of(BaseCommand.ADD_SUBSCRIPTION_TO_TXN)
            for each in command.addSubscriptionToTxn.subscription
        ]

    def _metadata(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.partitionMetadata
        count = self.count if "transaction_coordinator" in asked.topic else self.peer.partitions
        count = 0 if "-partition-" in asked.topic else count
        connection.write(replies.partitioned_metadata(asked.request_id, count))

    def _begin(self, connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.newTxn
        response = pb.CommandNewTxnResponse(
            request_id=asked.request_id, txnid_most_bits=asked.tc_id, txnid_least_bits=self.begun
        )
        self.begun += 1
        connection.write(encode(response))


def answer(frame: Frame, error: MagnetarError | None = None) -> bytes:
    field, kind = FIELDS[frame.command.type]
    response = kind(request_id=getattr(frame.command, field).request_id)
    if error is not None:
        response.error = to_code(error)
        response.message = str(error)
    return encode(response)


def grant(connection: PeerConnection, frame: Frame) -> None:
    connection.write(answer(frame))


def deny(error: MagnetarError) -> Script:
    """Answer a request of transactions with an error."""

    def script(connection: PeerConnection, frame: Frame) -> None:
        connection.write(answer(frame, error))

    return script


def acknowledge(connection: PeerConnection, frame: Frame) -> None:
    asked = frame.command.ack
    if asked.HasField("request_id"):
        connection.write(replies.ack_response(asked.consumer_id, asked.request_id))


def conflict(error: MagnetarError) -> Callable[[PeerConnection, Frame], None]:
    """Refuse an acknowledgement."""

    def script(connection: PeerConnection, frame: Frame) -> None:
        asked = frame.command.ack
        connection.write(replies.ack_response(asked.consumer_id, asked.request_id, error))

    return script
