"""The arguments of ``Client`` as the settings of ours."""

import logging
from typing import Final, TypedDict, Unpack

from magnetar.client.config import ClientOptions
from magnetar.client.failover import AutoClusterFailover as OurFailover
from magnetar.client.failover import ServiceInfo as OurServiceInfo

from .authentication import Authentication
from .checks import check_range, check_type, check_type_or_none
from .service_info import AutoClusterFailover, ServiceInfo, ServiceInfoProvider, check_scheme

log = logging.getLogger(__name__)


class ClientArguments(TypedDict):
    """The arguments of ``Client`` but the logger."""

    service_url: str | AutoClusterFailover | ServiceInfoProvider
    authentication: Authentication | None
    operation_timeout_seconds: int
    io_threads: int
    message_listener_threads: int
    concurrent_lookup_requests: int
    log_conf_file_path: str | None
    stats_interval_in_seconds: int
    use_tls: bool
    tls_trust_certs_file_path: str | None
    tls_allow_insecure_connection: bool
    tls_validate_hostname: bool
    connection_timeout_ms: int
    listener_name: str | None
    tls_private_key_file_path: str | None
    tls_certificate_file_path: str | None


_TYPES: Final[dict[str, type]] = {
    "operation_timeout_seconds": int,
    "connection_timeout_ms": int,
    "io_threads": int,
    "message_listener_threads": int,
    "concurrent_lookup_requests": int,
    "stats_interval_in_seconds": int,
    "use_tls": bool,
    "tls_allow_insecure_connection": bool,
    "tls_validate_hostname": bool,
}
_TYPES_OR_NONE: Final[dict[str, type]] = {
    "authentication": Authentication,
    "log_conf_file_path": str,
    "tls_trust_certs_file_path": str,
    "listener_name": str,
    "tls_private_key_file_path": str,
    "tls_certificate_file_path": str,
}
_LEAST: Final[dict[str, int]] = {
    "operation_timeout_seconds": 1,
    "connection_timeout_ms": 1,
    "io_threads": 1,
    "message_listener_threads": 1,
    "concurrent_lookup_requests": 1,
    "stats_interval_in_seconds": 0,
}
_NO_EFFECT: Final = {
    "io_threads": (1, "the client has one thread for its connections"),
    "concurrent_lookup_requests": (50_000, "the client does not limit its lookups"),
}


_NO_INFO: Final = "Expected a pulsar.ServiceInfo or _pulsar.ServiceInfo instance"


def first_of(
    service_url: str | AutoClusterFailover | ServiceInfoProvider,
) -> str | AutoClusterFailover | ServiceInfo:
    """What was given, or its provider says at first. Raises ValueError for what is no cluster."""
    if not isinstance(service_url, ServiceInfoProvider):
        return service_url
    info: object = service_url.initial_service_info()
    if not isinstance(info, ServiceInfo):
        raise ValueError(_NO_INFO)
    return info


def clusters(given: str | AutoClusterFailover | ServiceInfo) -> str | OurServiceInfo | OurFailover:
    """Where our client connects."""
    if isinstance(given, str):
        return given
    if isinstance(given, ServiceInfo):
        return cluster(given)
    interval_s = given.check_interval_ms / 1000
    return OurFailover(
        cluster(given.primary),
        [cluster(each) for each in given.secondary],
        # Theirs counts the checks that fail or succeed, the first of which ends no time.
        failover_delay_s=interval_s * (given.failover_threshold - 1),
        switch_back_delay_s=interval_s * (given.switch_back_threshold - 1),
        check_interval_s=interval_s,
    )


def cluster(info: ServiceInfo) -> OurServiceInfo:
    """A cluster for our client. Raises RuntimeError for what is none."""
    if not isinstance(info, ServiceInfo):
        raise RuntimeError(_NO_INFO)  # As theirs does.
    shown = info._authentication
    return OurServiceInfo(
        info.service_url,
        None if shown is None else shown.auth,
        info.tls_trust_certs_file_path,
    )


def client_options(**given: Unpack[ClientArguments]) -> ClientOptions:
    """The settings of our client. Raises ValueError."""
    url = given["service_url"]
    if not isinstance(url, str | AutoClusterFailover | ServiceInfoProvider):
        raise ValueError(
            "Argument service_url is expected to be of type 'str', 'AutoClusterFailover' or "
            "'ServiceInfoProvider'"
        )
    for name, kind in _TYPES.items():
        check_type(kind, given[name], name)  # type: ignore[literal-required]
    for name, kind in _TYPES_OR_NONE.items():
        check_type_or_none(kind, given[name], name)  # type: ignore[literal-required]
    for name, least in _LEAST.items():
        check_range(name, given[name], least)  # type: ignore[literal-required]
    if isinstance(url, str):
        check_scheme(url)
    else:
        for name in ("authentication", "tls_trust_certs_file_path"):
            if given[name] is not None:  # type: ignore[literal-required]
                raise ValueError(
                    f"Argument {name} is not supported when service_url is an "
                    f"{type(url).__name__}: each ServiceInfo has its own"
                )
    for name, (usual, reason) in _NO_EFFECT.items():
        if given[name] != usual:  # type: ignore[literal-required]
            log.warning("option.no_effect name=%s reason=%s", name, reason)
    shown = given["authentication"]
    return ClientOptions(
        authentication=None if shown is None else shown.auth,
        memory_limit_bytes=0,  # Theirs counts messages only.
        operation_timeout_s=given["operation_timeout_seconds"],
        stats_interval_s=given["stats_interval_in_seconds"],
        listener_threads=given["message_listener_threads"],
        connection_timeout_s=given["connection_timeout_ms"] / 1000,
        listener_name=given["listener_name"] or None,
        tls_trust_certs_file=given["tls_trust_certs_file_path"] or None,
        tls_allow_insecure=given["tls_allow_insecure_connection"],
        tls_verify_hostname=given["tls_validate_hostname"],
        tls_certificate_file=given["tls_certificate_file_path"] or None,
        tls_key_file=given["tls_private_key_file_path"] or None,
    )
