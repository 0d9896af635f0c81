"""Answers to CONNECT, and those that answer anything. Pure."""

from collections.abc import Iterable

from magnetar.errors import MagnetarError
from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.errors import to_code
from magnetar.wire.frames import encode

NO_REQUEST = 2**64 - 1  # the request id of what answers no request

# What a client may ask of this broker beyond its protocol version: fields of FeatureFlags.
FEATURES = (
    "supports_get_partitioned_metadata_without_auto_creation",
    "supports_repl_dedup_by_lid_and_eid",
)

_PING = encode(pb.CommandPing())
_PONG = encode(pb.CommandPong())


def connected(
    server_version: str,
    protocol_version: int,
    max_message_size: int | None,
    *,
    features: Iterable[str] = FEATURES,
) -> bytes:
    """``features`` names the fields of FeatureFlags to be set.

    A proxy says nothing of the size: the official client would take it for all of its brokers.
    """
    return encode(
        pb.CommandConnected(
            server_version=server_version,
            protocol_version=protocol_version,
            max_message_size=max_message_size,
            feature_flags=pb.FeatureFlags(**dict.fromkeys(features, True)),
        )
    )


def ping() -> bytes:
    return _PING


def pong() -> bytes:
    return _PONG


def success(request_id: int) -> bytes:
    return encode(pb.CommandSuccess(request_id=request_id))


def error(request_id: int, error: MagnetarError) -> bytes:
    return encode(pb.CommandError(request_id=request_id, error=to_code(error), message=str(error)))
