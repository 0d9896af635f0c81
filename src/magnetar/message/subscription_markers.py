"""The markers by which clusters keep each other's subscriptions. Pure.

A cluster asks the others how far their topic is (``SnapshotRequest``). Each answers in its own
topic (``SnapshotResponse``), so that the answer comes behind all that it sent before. When all have
answered, the cluster keeps a ``Snapshot``: whoever has nothing left here before the last answer has
nothing left there before the places that were answered. A subscription that comes past it says so
(``SubscriptionUpdate``).
"""

from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.message import DecodeError

from magnetar import inner
from magnetar.errors import CorruptEntry
from magnetar.late_dataclass import dataclass
from magnetar.model.position import Position, signed
from magnetar.proto import Markers_pb2 as pb

from .entry import join, payload_start
from .metadata import SNAPSHOT

_PRODUCER: Final = b"pulsar.marker"
# Producer, sequence id, publish time, the clusters that it goes to, and the marker type.
_TAGS: Final = [0x0A, 0x10, 0x18, 0x3A, 160]

Positions = Mapping[str, Position]
"""Places in the topic, by cluster."""


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """``cluster`` asks all others."""

    snapshot_id: str
    cluster: str


@dataclass(frozen=True, slots=True)
class SnapshotResponse:
    """The topic of ``cluster`` is at ``position``."""

    snapshot_id: str
    cluster: str
    position: Position


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All up to ``local`` here, and all up to ``positions`` in the other clusters, is the same."""

    snapshot_id: str
    local: Position
    positions: Positions


@dataclass(frozen=True, slots=True)
class SubscriptionUpdate:
    """A subscription has nothing left up to ``positions``."""

    subscription: str
    positions: Positions


SubscriptionMarker = SnapshotRequest | SnapshotResponse | Snapshot | SubscriptionUpdate

_TYPES: Final[Mapping[type, int]] = {
    SnapshotRequest: 10,
    SnapshotResponse: 11,
    Snapshot: SNAPSHOT,
    SubscriptionUpdate: 13,
}
_Message = pb.SnapshotRequest | pb.SnapshotResponse | pb.Snapshot | pb.SubscriptionUpdate
_KINDS: Final[Mapping[int, type[_Message]]] = {
    10: pb.SnapshotRequest,
    11: pb.SnapshotResponse,
    SNAPSHOT: pb.Snapshot,
    13: pb.SubscriptionUpdate,
}
_LONG: Final = 2**64 - 1


def entry_of(marker: SubscriptionMarker, publish_time_ms: int, *, to: str | None) -> bytes:
    """The entry of a marker, which goes to one cluster alone, or to all (None)."""
    targets = None if to is None else to.encode()
    fields = [_PRODUCER, 0, publish_time_ms, targets, _TYPES[type(marker)]]
    return join(inner.write_fields(_TAGS, fields), _payload(marker))  # type: ignore[arg-type]


def read(entry: bytes, marker_type: int) -> SubscriptionMarker:
    """What a marker of one of the types 10 to 13 says. Raises CorruptEntry."""
    kind = _KINDS[marker_type]
    try:
        found = kind.FromString(entry[payload_start(entry) :])
    except DecodeError as error:
        raise CorruptEntry(f"a marker that cannot be read: {error}") from error
    if not found.IsInitialized():
        raise CorruptEntry(f"a marker of type {marker_type} without a field that it must have")
    match found:
        case pb.SnapshotRequest():
            return SnapshotRequest(found.snapshot_id, found.source_cluster)
        case pb.SnapshotResponse():
            there = found.cluster
            return SnapshotResponse(found.snapshot_id, there.cluster, _position(there.message_id))
        case pb.Snapshot():
            local = _position(found.local_message_id)
            return Snapshot(found.snapshot_id, local, _positions(found.clusters))
        case _:
            return SubscriptionUpdate(found.subscription_name, _positions(found.clusters))


def _payload(marker: SubscriptionMarker) -> bytes:
    message: _Message
    match marker:
        case SnapshotRequest(snapshot_id, cluster):
            message = pb.SnapshotRequest(snapshot_id=snapshot_id, source_cluster=cluster)
        case SnapshotResponse(snapshot_id, cluster, position):
            message = pb.SnapshotResponse(
                snapshot_id=snapshot_id, cluster=_of_cluster(cluster, position)
            )
        case Snapshot(snapshot_id, local, positions):
            message = pb.Snapshot(
                snapshot_id=snapshot_id, local_message_id=_of(local), clusters=_of_all(positions)
            )
        case SubscriptionUpdate(subscription, positions):
            message = pb.SubscriptionUpdate(
                subscription_name=subscription, clusters=_of_all(positions)
            )
    return message.SerializeToString()


def _of(position: Position) -> pb.MarkerPosition:
    # Entry -1 stands before a ledger: these fields know no sign, and Java writes it so.
    return pb.MarkerPosition(
        ledger_id=position.ledger_id & _LONG, entry_id=position.entry_id & _LONG
    )


def _of_cluster(cluster: str, position: Position) -> pb.ClusterPosition:
    return pb.ClusterPosition(cluster=cluster, message_id=_of(position))


def _of_all(positions: Positions) -> list[pb.ClusterPosition]:
    return [_of_cluster(*each) for each in sorted(positions.items())]


def _position(found: pb.MarkerPosition) -> Position:
    return Position(signed(found.ledger_id), signed(found.entry_id))


def _positions(found: Iterable[pb.ClusterPosition]) -> Positions:
    return {each.cluster: _position(each.message_id) for each in found}
