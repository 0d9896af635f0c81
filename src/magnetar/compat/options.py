"""What ``pulsar-client`` calls a setting, as the setting of our client.

Nothing is accepted and ignored: an argument does the same as theirs, is refused by name, or, where
it only bears on speed, is named in a warning. The rows of ``settings`` say which is which.
"""

import logging
import secrets
from collections.abc import Mapping
from typing import Any, Final, cast

from magnetar.client.config import ClientOptions
from magnetar.client.consumers.config import ConsumerOptions, ReaderOptions
from magnetar.client.failover import AutoClusterFailover as OurFailover
from magnetar.client.failover import ServiceInfo as OurServiceInfo
from magnetar.client.producers.config import ProducerOptions
from magnetar.client.producers.routing import HashingScheme, RoutingMode
from magnetar.model.names import TopicName

from .checks import check_range
from .enums import PartitionsRoutingMode
from .message import sent
from .service_info import AutoClusterFailover, ServiceInfo, ServiceInfoProvider, check_scheme
from .settings import CLIENT, CONSUMER, PRODUCER, READER, converted

log = logging.getLogger(__name__)

_ROUTING: Final = {
    PartitionsRoutingMode.UseSinglePartition: RoutingMode.SINGLE,
    PartitionsRoutingMode.RoundRobinDistribution: RoutingMode.ROUND_ROBIN,
}
_NO_EFFECT: Final = {
    "io_threads": (1, "the client has one thread for its connections"),
    "concurrent_lookup_requests": (50_000, "the client does not limit its lookups"),
    "lazy_start_partitioned_producers": (False, "every partition is attached at once"),
}
_NO_INFO: Final = "Expected a pulsar.ServiceInfo or _pulsar.ServiceInfo instance"


def client_options(given: Mapping[str, Any]) -> ClientOptions:
    """The settings of our client. Raises ValueError."""
    url = given["service_url"]
    if not isinstance(url, str | AutoClusterFailover | ServiceInfoProvider):
        raise ValueError(
            "Argument service_url is expected to be of type 'str', 'AutoClusterFailover' or "
            "'ServiceInfoProvider'"
        )
    for name in ("io_threads", "concurrent_lookup_requests"):
        check_range(name, given[name], 1)
    options = converted(CLIENT, given)
    if isinstance(url, str):
        check_scheme(url)
    else:
        for name in ("authentication", "tls_trust_certs_file_path"):
            if given[name] is not None:
                raise ValueError(
                    f"Argument {name} is not supported when service_url is an "
                    f"{type(url).__name__}: each ServiceInfo has its own"
                )
    _warn_of_no_effect(given)
    options["memory_limit_bytes"] = 0  # Theirs counts messages only.
    return cast("ClientOptions", options)


def producer_options(given: Mapping[str, Any]) -> ProducerOptions:
    """The settings of our producer. Raises ValueError."""
    if given["batching_enabled"] and given["chunking_enabled"]:
        raise ValueError("Batching and chunking of messages can't be enabled together.")
    options = cast("ProducerOptions", converted(PRODUCER, given))
    _warn_of_no_effect(given)
    options["max_pending_bytes"] = 1 << 62  # Theirs counts no bytes.
    options["hashing"] = HashingScheme.BOOST
    router = given["message_router"]
    if router is not None:
        options["routing"] = lambda message, partitions: int(router(sent(message), partitions))
    elif given["message_routing_mode"] in _ROUTING:
        options["routing"] = _ROUTING[given["message_routing_mode"]]
    else:
        raise ValueError("message_routing_mode is CustomPartition: give the message_router")
    return options


def consumer_options(given: Mapping[str, Any]) -> ConsumerOptions:
    """The settings of our consumer. Raises ValueError."""
    ack_timeout_ms = given["unacked_messages_timeout_ms"] or 0
    if 0 < ack_timeout_ms < 10_000 or ack_timeout_ms < 0:
        raise ValueError(
            "Consumer Config Exception: Unacknowledged message timeout should be greater than 10 "
            f"seconds: unacked_messages_timeout_ms is {ack_timeout_ms}"
        )
    return cast("ConsumerOptions", converted(CONSUMER, given))


def reader_options(given: Mapping[str, Any]) -> ReaderOptions:
    """The settings of our reader. Raises ValueError."""
    return cast("ReaderOptions", converted(READER, given))


def reader_subscription(prefix: str | None) -> str | None:
    """The name of a reader's subscription as theirs makes it up; None where ours does the same."""
    return f"{prefix}-reader-{secrets.token_hex(5)}" if prefix else None


def partition_names(topic: str, count: int) -> list[str]:
    """The full names of a topic's partitions; its own when it has none."""
    name = TopicName.parse(topic)
    return [str(name.partition(index)) for index in range(count)] or [str(name)]


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


def _warn_of_no_effect(given: Mapping[str, Any]) -> None:
    for name, (usual, reason) in _NO_EFFECT.items():
        if given.get(name, usual) != usual:
            log.warning("option.no_effect name=%s reason=%s", name, reason)
