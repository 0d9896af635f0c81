"""The settings of one proxy, read once from a ``proxy.conf``, the environment and flags, frozen."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Final, Self

from magnetar.broker.settings.auth import AuthSettings
from magnetar.broker.settings.auth import refusals as auth_refusals
from magnetar.broker.settings.log import LogSettings
from magnetar.broker.settings.metadata import MetadataSettings, metadata_refusals
from magnetar.broker.settings.others import OtherSetting, Status, judge
from magnetar.broker.settings.properties import read_properties
from magnetar.broker.settings.pulsar import PulsarTable
from magnetar.broker.settings.setting import (
    refusal_text,
    refusal_texts,
    rows_of,
    section_from,
    sections_of,
    settings_of,
    text_of,
    variable_of,
)
from magnetar.broker.settings.tls import refused_of_clients
from magnetar.client.service_url import ServiceUrl
from magnetar.errors import InvalidValue
from magnetar.model.broker_address import is_loopback

from .settings import (
    BrokerSettings,
    ForwardSettings,
    LimitSettings,
    ProxyTlsSettings,
    ServerSettings,
)
from .targets import Targets

OF_PROXIES: Final = PulsarTable(Path(__file__).with_name("pulsar.toml"))

_OF_BROKERS_ONLY: Final = frozenset(
    {
        "auditLogFile",
        "authenticateHealthEndpoints",
        "authenticateOriginalAuthData",
        "authorizationAllowWildcardsMatching",
        "proxyRoles",
        "tenantTokenIssuers",
    }
)
"""Settings of sections that a proxy shares with brokers, and that it does nothing about."""
_DEFAULTS: Final = {"authenticateMetricsEndpoint": "true"}
"""Where a proxy of Pulsar's has another default than a broker."""
_PORTS: Final = ("servicePort", "webServicePort")
_URLS: Final = {
    "brokerServiceURL": "pulsar",
    "brokerServiceURLTLS": "pulsar+ssl",
    "brokerWebServiceURL": "http",
    "brokerWebServiceURLTLS": "https",
    "functionWorkerWebServiceURL": "http",
    "functionWorkerWebServiceURLTLS": "https",
}


@dataclass(frozen=True, slots=True)
class ProxyConfig:
    """The settings of one proxy, and where each came from."""

    server: ServerSettings = field(default_factory=ServerSettings)
    brokers: BrokerSettings = field(default_factory=BrokerSettings)
    metadata: MetadataSettings = field(default_factory=MetadataSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    forward: ForwardSettings = field(default_factory=ForwardSettings)
    tls: ProxyTlsSettings = field(default_factory=ProxyTlsSettings)
    log: LogSettings = field(default_factory=LogSettings)
    # Those above are the sections, in the order in which they are shown.
    sources: Mapping[str, str] = field(default_factory=dict)
    """By key; a key at its default is absent."""
    others: tuple[OtherSetting, ...] = ()  # Settings that Magnetar does not have, by key.
    wrong: Mapping[str, str] = field(default_factory=dict)
    """By key, what is said of values that are none of theirs: they are at their defaults."""

    @classmethod
    def read(
        cls,
        *,
        file: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        flags: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """Put the sources together. Raises InvalidValue naming key, value and remedy."""
        config = cls.read_to_show(file=file, environment=environment, flags=flags)
        if config.refused:
            raise InvalidValue("\n".join(config.refused))
        return config

    @classmethod
    def read_to_show(
        cls,
        *,
        file: Path | None = None,
        environment: Mapping[str, str] = MappingProxyType({}),
        flags: Mapping[str, object] = MappingProxyType({}),
    ) -> Self:
        """The same, with what is ``refused``: not to start a proxy with."""
        given, sources = ({}, {}) if file is None else read_properties(file, KEYS, _PORTS)
        for key in (*KEYS, *OF_PROXIES.keys):
            if (variable := variable_of(key)) in environment:
                given[key], sources[key] = environment[variable], f"environment {variable}"
        for key, flag in flags.items():
            if flag is not None:
                given[key], sources[key] = text_of(flag), "flag"
        wrong: dict[str, str] = {}
        own = {key: given[key] for key in given if key in KEYS}
        own_sources = {**dict.fromkeys(_DEFAULTS, "default"), **sources}
        return cls(
            **{
                name: section_from(section, {**_DEFAULTS, **own}, own_sources, wrong)
                for name, section in _SECTIONS.items()
            },
            wrong=MappingProxyType(wrong),
            sources=MappingProxyType(sources),
            others=tuple(
                judge(key, given[key], sources[key], KEYS, OF_PROXIES)
                for key in sorted(given.keys() - KEYS)
            ),
        )

    @property
    def refused(self) -> list[str]:
        """Why no proxy may start with these settings, each with the remedy."""
        return [
            *self.wrong.values(),
            *(one.text for one in self.others if one.status is Status.REFUSED),
            *auth_refusals(self.auth, self.sources),
            *metadata_refusals(self.metadata, self.sources),
            *refusal_texts(self._refused_brokers() + self._refused_tls(), self.sources),
        ]

    def _refused_brokers(self) -> list[tuple[str, str, str]]:
        found = []
        for key, value, *_ in self.rows():
            if key in _URLS and value:
                try:
                    scheme = ServiceUrl.parse(value).scheme
                except InvalidValue as error:
                    found.append((key, value, str(error)))
                else:
                    if scheme != _URLS[key]:
                        found.append((key, value, f"say {_URLS[key]}://host:port"))
        given = self.brokers.url_tls if self.tls.with_brokers else self.brokers.url
        if not given and not self.metadata.in_cluster:
            key = "brokerServiceURLTLS" if self.tls.with_brokers else "brokerServiceURL"
            remedy = f"say where the brokers are: {key}={_URLS[key]}://host:port, or "
            found.append((key, given, remedy + "metadataStoreUrl=zk:host:2181"))
        try:
            Targets.of(self.brokers)
        except InvalidValue as error:
            value = ",".join(self.brokers.allowed_addresses + self.brokers.allowed_ports)
            found.append(("brokerProxyAllowedIPAddresses", value, str(error)))
        if self.forward.credentials and not self.auth.enabled:
            remedy = "the proxy asks nobody for credentials: set authenticationEnabled=true, too"
            found.append(("forwardAuthorizationCredentials", "true", remedy))
        return found

    def _refused_tls(self) -> list[tuple[str, str, str]]:
        tls = self.tls
        found = refused_of_clients(tls.of_server, self.auth, "servicePortTls", "webServicePortTls")
        if (tls.client_certificate is None) != (tls.client_key is None):
            remedy = "set brokerClientCertificateFilePath and brokerClientKeyFilePath both"
            found.append(("brokerClientKeyFilePath", str(tls.client_key or ""), remedy))
        if tls.sni and tls.port is None:
            found.append(("sniRoutingEnabled", "true", "set servicePortTls, too"))
        return found

    @property
    def warnings(self) -> list[str]:
        """What a proxy starts with, and may not be meant, each with the remedy."""
        host = self.server.bind_address
        if self.auth.enabled or is_loopback(host):
            return []
        remedy = (
            "whoever reaches this machine reaches the brokers as this proxy does, as nobody is "
            "asked who it is: set authenticationEnabled=true (docs/proxy.md)"
        )
        source = self.sources.get("bindAddress", "default")
        return [refusal_text("bindAddress", host, source, remedy)]

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Key, value, source and explanation of every setting. Secrets are not shown."""
        rows = rows_of(self, _SECTIONS, lambda key: self.sources.get(key, "default"))
        return [row for row in rows if row[0] in KEYS]


_SECTIONS: Final = sections_of(ProxyConfig)
KEYS: Final = (
    frozenset(one.key for section in _SECTIONS.values() for one in settings_of(section))
    - _OF_BROKERS_ONLY
)
"""Every key that a proxy takes."""
