"""The settings of a client: values, defaults, checks.

The ``...Options`` are the same settings as keyword arguments; a test holds them to the dataclasses.
"""

from dataclasses import dataclass
from typing import TypedDict

from magnetar.client.checks import (
    check_not_negative,
    check_positive,
    check_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How a client connects. Raises InvalidValue."""

    service_url: str  # pulsar://host[:port][,host[:port]...]
    operation_timeout_s: float = 30.0  # For a request, or a first attempt with its retries.
    connection_timeout_s: float = 10.0  # For TCP and the handshake together.
    keep_alive_interval_s: float = 30.0  # A silent broker is given up after twice this time.
    connections_per_broker: int = 1
    lookup_redirects_max: int = 20
    partitions_refresh_s: float = 60.0  # How often new partitions are looked for; 0 for never.
    backoff_first_s: float = 0.1
    backoff_max_s: float = 60.0

    def __post_init__(self) -> None:
        check_text("service_url", self.service_url)
        check_positive("operation_timeout_s", self.operation_timeout_s)
        check_positive("connection_timeout_s", self.connection_timeout_s)
        check_positive("keep_alive_interval_s", self.keep_alive_interval_s)
        check_positive("connections_per_broker", self.connections_per_broker)
        check_not_negative("lookup_redirects_max", self.lookup_redirects_max)
        check_not_negative("partitions_refresh_s", self.partitions_refresh_s)
        check_positive("backoff_first_s", self.backoff_first_s)
        check_positive("backoff_max_s", self.backoff_max_s)


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of ``Client``; ``ClientConfig`` says what they mean."""

    operation_timeout_s: float
    connection_timeout_s: float
    keep_alive_interval_s: float
    connections_per_broker: int
    lookup_redirects_max: int
    partitions_refresh_s: float
    backoff_first_s: float
    backoff_max_s: float
