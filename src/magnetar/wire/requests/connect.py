"""Signing in. Pure."""

from collections.abc import Iterable

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode


def connect(
    client_version: str,
    protocol_version: int,
    *,
    features: Iterable[str] = (),
    proxy_to_broker_url: str | None = None,
    auth_method: str = "none",
    auth_data: bytes | None = None,
) -> bytes:
    """``features`` names the fields of FeatureFlags to be set."""
    return encode(
        pb.CommandConnect(
            client_version=client_version,
            protocol_version=protocol_version,
            auth_method_name=auth_method,
            auth_data=auth_data,
            proxy_to_broker_url=proxy_to_broker_url,
            feature_flags=pb.FeatureFlags(**dict.fromkeys(features, True)),
        )
    )


def auth_response(
    client_version: str, protocol_version: int, auth_method: str, auth_data: bytes
) -> bytes:
    return encode(
        pb.CommandAuthResponse(
            client_version=client_version,
            response=pb.AuthData(auth_method_name=auth_method, auth_data=auth_data),
            protocol_version=protocol_version,
        )
    )
