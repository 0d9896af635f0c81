"""The settings of a proxy, by the keys of Pulsar's ``proxy.conf``, a class for each section."""

from dataclasses import dataclass
from pathlib import Path

from magnetar.broker.settings.setting import setting
from magnetar.broker.settings.tls import TlsProtocol, TlsSettings


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the proxy listens."""

    bind_address: str = setting(
        "bindAddress", "127.0.0.1", "address to listen on; 0.0.0.0 lets other machines in"
    )
    advertised_address: str = setting(
        "advertisedAddress", "", "host name that pages of browsers may come by, beside addresses"
    )
    port: int = setting(
        "servicePort",
        6650,
        "port of the binary protocol; 0 picks a free one, -1 switches it off where TLS is on",
        minimum=-1,
        maximum=65535,
    )
    web_port: int = setting(
        "webServicePort",
        8080,
        "port of HTTP; 0 picks a free one, -1 switches it off",
        minimum=-1,
        maximum=65535,
    )
    keep_alive_interval_s: int = setting(
        "keepAliveIntervalSeconds",
        30,
        "a client that asks the proxy itself is pinged after this, closed after twice this",
        minimum=1,
    )
    status_file: Path | None = setting(
        "statusFilePath", None, "file that must be there for /status.html to answer 200"
    )
    stats: bool = setting("enableProxyStatsEndpoints", True, "serve /metrics")


@dataclass(frozen=True, slots=True)
class BrokerSettings:
    """Where the brokers are, and which addresses a client may be connected to."""

    url: str = setting(
        "brokerServiceURL",
        "",
        "pulsar://host:port,host:port of brokers; absent: those in metadataStoreUrl",
    )
    url_tls: str = setting("brokerServiceURLTLS", "", "the same with TLS, pulsar+ssl://")
    web_url: str = setting("brokerWebServiceURL", "", "http://host:port,host:port of brokers")
    web_url_tls: str = setting("brokerWebServiceURLTLS", "", "the same with TLS, https://")
    worker_url: str = setting(
        "functionWorkerWebServiceURL",
        "",
        "http://host:port of a functions worker; absent: brokers are asked",
    )
    worker_url_tls: str = setting("functionWorkerWebServiceURLTLS", "", "the same with TLS")
    check_active: bool = setting(
        "checkActiveBrokers",
        False,
        "clients are connected to brokers of the cluster only, whatever is allowed beside",
    )
    allowed_hosts: tuple[str, ...] = setting(
        "brokerProxyAllowedHostNames",
        (),
        "host names, with *, that clients are connected to; absent: brokers of the cluster only",
    )
    allowed_addresses: tuple[str, ...] = setting(
        "brokerProxyAllowedIPAddresses",
        (),
        "the same by addresses and networks, 10.0.0.0/8, of what a host name stands for",
    )
    allowed_ports: tuple[str, ...] = setting(
        "brokerProxyAllowedTargetPorts",
        (),
        "ports, with ranges 6650-6660, that clients are connected to; absent or *: any",
    )
    connect_timeout_ms: int = setting(
        "brokerProxyConnectTimeoutMs", 10_000, "how long a broker may take to answer", minimum=1
    )
    read_timeout_ms: int = setting(
        "brokerProxyReadTimeoutMs",
        75_000,
        "a connection whose broker is silent for so long is closed; 0: never",
    )


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How much clients may ask at once."""

    connections_max: int = setting(
        "maxConcurrentInboundConnections", 10_000, "connections at the same time; 0 is no limit"
    )
    connections_per_ip_max: int = setting(
        "maxConcurrentInboundConnectionsPerIp", 0, "the same, from one address; 0 is no limit"
    )
    lookups_max: int = setting(
        "maxConcurrentLookupRequests", 50_000, "lookups at the same time", minimum=1
    )
    web_connections_max: int = setting(
        "maxHttpServerConnections", 2048, "connections of HTTP at the same time; 0 is no limit"
    )
    web_timeout_ms: int = setting(
        "httpProxyTimeout", 300_000, "how long a broker may take to answer over HTTP", minimum=1
    )
    web_body_max: int = setting(
        "httpInputMaxReplayBufferSize",
        5 * 1024 * 1024,
        "bytes that the body of a request over HTTP may have",
        minimum=1,
    )


@dataclass(frozen=True, slots=True)
class ForwardSettings:
    """What brokers are told of a client."""

    credentials: bool = setting(
        "forwardAuthorizationCredentials",
        False,
        "brokers are shown what clients show, too (authenticateOriginalAuthData)",
    )


@dataclass(frozen=True, slots=True)
class ProxyTlsSettings:
    """TLS with clients, and with brokers."""

    port: int | None = setting(
        "servicePortTls",
        None,
        "port of the binary protocol over TLS, 6651 by custom; 0 picks a free one, empty is none",
        maximum=65535,
    )
    web_port: int | None = setting(
        "webServicePortTls",
        None,
        "port of HTTPS, 8443 by custom; 0 picks a free one, empty is none",
        maximum=65535,
    )
    certificate: Path | None = setting(
        "tlsCertificateFilePath", None, "file of the proxy's certificate and its chain, in PEM"
    )
    key: Path | None = setting("tlsKeyFilePath", None, "file of its private key, in PEM")
    trust: Path | None = setting(
        "tlsTrustCertsFilePath",
        None,
        "file of the authorities whose certificates of clients are believed, in PEM",
    )
    require_certificate: bool = setting(
        "tlsRequireTrustedClientCertOnConnect",
        False,
        "clients must show a certificate of these; otherwise they may",
    )
    insecure: bool = setting(
        "tlsAllowInsecureConnection", False, "certificates of clients are not asked for at all"
    )
    protocols: tuple[TlsProtocol, ...] = setting(
        "tlsProtocols", ("TLSv1.2", "TLSv1.3"), "versions of TLS that are spoken with clients"
    )
    ciphers: tuple[str, ...] = setting(
        "tlsCiphers",
        (),
        "ciphers of TLSv1.2, by OpenSSL's names or Java's; empty: OpenSSL chooses",
    )
    refresh_check_s: int = setting(
        "tlsCertRefreshCheckDurationSec",
        300,
        "how often it is looked whether these files changed; 0: not while the proxy runs",
    )
    sni: bool = setting(
        "sniRoutingEnabled",
        False,
        "clients that greet servicePortTls by the host name of a broker are passed through to its "
        "port for TLS, which asks them who they are; not Pulsar's",
    )
    with_brokers: bool = setting("tlsEnabledWithBroker", False, "speak TLS with brokers")
    verify_hostname: bool = setting(
        "tlsHostnameVerificationEnabled",
        False,
        "the certificate of a broker must be for the name that it is asked by",
    )
    client_trust: Path | None = setting(
        "brokerClientTrustCertsFilePath",
        None,
        "file of the authorities whose certificates of brokers are believed, in PEM; empty: those "
        "of the system",
    )
    client_certificate: Path | None = setting(
        "brokerClientCertificateFilePath", None, "file of the certificate shown to brokers, in PEM"
    )
    client_key: Path | None = setting(
        "brokerClientKeyFilePath", None, "file of its private key, in PEM"
    )

    @property
    def on(self) -> bool:
        """Whether clients may speak TLS."""
        return self.port is not None or self.web_port is not None

    @property
    def of_server(self) -> TlsSettings:
        """The side that clients see, as a broker has it."""
        return TlsSettings(
            port=self.port,
            web_port=self.web_port,
            certificate=self.certificate,
            key=self.key,
            trust=self.trust,
            require_certificate=self.require_certificate,
            insecure=self.insecure,
            protocols=self.protocols,
            ciphers=self.ciphers,
            refresh_check_s=self.refresh_check_s,
            client_trust=self.client_trust,
            client_certificate=self.client_certificate,
        )
