"""Signing in. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from magnetar.proto import PulsarApi_pb2 as pb
from magnetar.wire.frames import encode


class OnBehalf(NamedTuple):
    """For whom a proxy asks: the client's role, and what it showed where that is passed on."""

    proxy_version: str
    principal: str | None = None
    auth_data: str | None = None
    auth_method: str | None = None


def connect(
    client_version: str,
    protocol_version: int,
    *,
    features: Iterable[str] = (),
    proxy_to_broker_url: str | None = None,
    auth_method: str = "none",
    auth_data: bytes | None = None,
    on_behalf: OnBehalf | None = None,
) -> bytes:
    """``features`` names the fields of FeatureFlags to be set."""
    command = pb.CommandConnect(
        client_version=client_version,
        protocol_version=protocol_version,
        auth_method_name=auth_method,
        auth_data=auth_data,
        proxy_to_broker_url=proxy_to_broker_url,
        feature_flags=pb.FeatureFlags(**dict.fromkeys(features, True)),
    )
    if on_behalf is not None:
        said = pb.CommandConnect(
            proxy_version=on_behalf.proxy_version,
            original_principal=on_behalf.principal,
            original_auth_data=on_behalf.auth_data,
            original_auth_method=on_behalf.auth_method,
        )
        command.MergeFrom(said)
    return encode(command)


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
