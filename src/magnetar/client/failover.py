"""Several clusters for one client: which is used, and when another."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from magnetar.errors import InvalidValue

from .authentication.authentication import Authentication
from .checks import check_not_negative, check_positive, check_text
from .config import ClientConfig, ClientOptions
from .service_url import ServiceUrl


@dataclass(frozen=True, slots=True)
class ServiceInfo:
    """A cluster; what is left out is as the client's own keyword arguments say."""

    service_url: str
    authentication: Authentication | None = field(default=None, repr=False)
    tls_trust_certs_file: str | None = None

    def __post_init__(self) -> None:
        check_text("service_url", self.service_url)
        if ServiceUrl.parse(self.service_url).http:
            raise InvalidValue(f"failover needs pulsar:// or pulsar+ssl://, not {self.service_url}")


@dataclass(frozen=True, slots=True)
class AutoClusterFailover:
    """In place of a service URL: the first cluster that answers, and the primary when it can be.

    Whether a cluster answers is tried every ``check_interval_s``, by a connection to one of its
    brokers. Raises InvalidValue.
    """

    primary: ServiceInfo | str
    secondaries: Sequence[ServiceInfo | str]  # The first of them that answers is taken.
    failover_delay_s: float = 10.0  # So long the current one has not answered.
    switch_back_delay_s: float = 60.0  # So long the primary has answered again.
    check_interval_s: float = 5.0

    def __post_init__(self) -> None:
        if isinstance(self.secondaries, str) or not self.secondaries:
            raise InvalidValue("secondaries must be a list of at least one cluster")
        check_not_negative("failover_delay_s", self.failover_delay_s)
        check_not_negative("switch_back_delay_s", self.switch_back_delay_s)
        check_positive("check_interval_s", self.check_interval_s)

    def configs(self, options: ClientOptions) -> list[ClientConfig]:
        """The settings with which a client uses each cluster, the primary's first."""
        return [self._config(each, options) for each in (self.primary, *self.secondaries)]

    @staticmethod
    def _config(given: ServiceInfo | str, options: ClientOptions) -> ClientConfig:
        info = ServiceInfo(given) if isinstance(given, str) else given
        merged: ClientOptions = {**options}
        if info.authentication is not None:
            merged["authentication"] = info.authentication
        if info.tls_trust_certs_file is not None:
            merged["tls_trust_certs_file"] = info.tls_trust_certs_file
        return ClientConfig(service_url=info.service_url, **merged)
