"""Several clusters for one client: which is used, and when another."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from magnetar.checks import check_not_negative, check_positive, check_text, copy_properties
from magnetar.errors import InvalidValue

from .authentication.authentication import Authentication
from .authentication.plugins import authentication_of
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
        return [config_of(each, options) for each in (self.primary, *self.secondaries)]


@dataclass(frozen=True, slots=True)
class ControlledClusterFailover:
    """In place of a service URL: a web server says which cluster to use.

    ``url_provider`` is asked when the client is first used and every ``check_interval_s``, with
    ``headers``. It answers as for Pulsar's Java client: a JSON object with ``serviceUrl``, and
    ``tlsTrustCertsFilePath``, ``authPluginClassName`` and ``authParamsString`` where they differ.
    Until it has answered, ``default`` is used. Raises InvalidValue.
    """

    default: ServiceInfo | str
    url_provider: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    check_interval_s: float = 30.0

    def __post_init__(self) -> None:
        check_text("url_provider", self.url_provider)
        if not self.url_provider.startswith(("http://", "https://")) or "@" in self.url_provider:
            raise InvalidValue("url_provider is not of the form https://host/path without password")
        copy_properties("headers", self.headers)
        check_positive("check_interval_s", self.check_interval_s)

    def configs(self, options: ClientOptions) -> list[ClientConfig]:
        """The settings with which a client begins."""
        return [config_of(self.default, options)]

    def told(self, answer: bytes, options: ClientOptions) -> ClientConfig:
        """The settings that the provider's answer means. Raises InvalidValue."""
        try:
            found: object = json.loads(answer)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("serviceUrl"), str):
            raise InvalidValue("the provider answers without a JSON object that has a serviceUrl")
        plugin = found.get("authPluginClassName")
        shown = plugin and authentication_of(str(plugin), str(found.get("authParamsString") or ""))
        trusted = found.get("tlsTrustCertsFilePath")
        info = ServiceInfo(found["serviceUrl"], shown or None, str(trusted) if trusted else None)
        return config_of(info, options)


def config_of(given: ServiceInfo | str, options: ClientOptions) -> ClientConfig:
    """The settings with which a client uses a cluster. Raises InvalidValue."""
    info = ServiceInfo(given) if isinstance(given, str) else given
    merged: ClientOptions = {**options}
    if info.authentication is not None:
        merged["authentication"] = info.authentication
    if info.tls_trust_certs_file is not None:
        merged["tls_trust_certs_file"] = info.tls_trust_certs_file
    return ClientConfig(service_url=info.service_url, **merged)
