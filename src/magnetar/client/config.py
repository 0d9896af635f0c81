"""The settings of a client: values, defaults, checks.

The ``...Options`` are the same settings as keyword arguments; a test holds them to the dataclasses.
"""

from dataclasses import dataclass, field
from typing import Final, TypedDict

from magnetar.checks import (
    check_flag,
    check_not_negative,
    check_positive,
    check_text,
)
from magnetar.client.authentication.authentication import Authentication
from magnetar.client.authentication.tls import AuthenticationTls
from magnetar.client.service_url import ServiceUrl
from magnetar.errors import InvalidValue

TLS_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How a client connects. Raises InvalidValue."""

    service_url: str  # pulsar[+ssl]://host[:port][,host[:port]...], or http[s]://
    # Who the client says it is. Not shown: an application's own class may show what is secret.
    authentication: Authentication | None = field(default=None, repr=False)
    listener_name: str | None = None  # Which of the addresses that brokers advertise is meant.
    tls_trust_certs_file: str | None = None  # PEM. None: those the system trusts.
    tls_certificate_file: str | None = None  # PEM: the client's own, for mutual TLS.
    tls_key_file: str | None = None  # PEM: its private key.
    tls_verify_hostname: bool = True  # The certificate must be for the host that was asked.
    tls_allow_insecure: bool = False  # Any certificate will do: no protection from a false broker.
    tls_minimum_version: str = "TLSv1.2"  # Or "TLSv1.3".
    operation_timeout_s: float = 30.0  # For a request, or a first attempt with its retries.
    close_timeout_s: float | None = None  # Of a close; None: operation_timeout_s.
    connection_timeout_s: float = 10.0  # For TCP and the handshake together.
    first_connection_timeout_s: float = 0.0  # Who never answered is tried again for so long.
    keep_alive_interval_s: float = 30.0  # A silent broker is given up after twice this time.
    connections_per_broker: int = 1  # TCP connections that producers and consumers share.
    connection_idle_max_s: float = 180.0  # One that is not used is closed; 0 for never.
    lookup_redirects_max: int = 20  # Brokers that may send a lookup on before it fails.
    partitions_refresh_s: float = 60.0  # How often new partitions are looked for; 0 for never.
    stats_interval_s: float = 0.0  # Producers and consumers log a line so often; 0 for never.
    listener_threads: int = 1  # Of a blocking client, for its listeners.
    memory_limit_bytes: int = 64 * 1024 * 1024  # Unanswered, of all producers; 0: no limit.
    backoff_first_s: float = 0.1  # The wait before a second attempt; it doubles with each.
    backoff_max_s: float = 60.0  # The longest wait between two attempts.

    def __post_init__(self) -> None:
        check_text("service_url", self.service_url)
        self._check_tls(ServiceUrl.parse(self.service_url))
        if self.listener_name is not None:
            check_text("listener_name", self.listener_name)
        check_positive("operation_timeout_s", self.operation_timeout_s)
        if self.close_timeout_s is not None:
            check_not_negative("close_timeout_s", self.close_timeout_s)
        check_positive("connection_timeout_s", self.connection_timeout_s)
        check_not_negative("first_connection_timeout_s", self.first_connection_timeout_s)
        check_positive("keep_alive_interval_s", self.keep_alive_interval_s)
        check_positive("connections_per_broker", self.connections_per_broker)
        check_not_negative("connection_idle_max_s", self.connection_idle_max_s)
        check_not_negative("lookup_redirects_max", self.lookup_redirects_max)
        check_not_negative("partitions_refresh_s", self.partitions_refresh_s)
        check_not_negative("stats_interval_s", self.stats_interval_s)
        check_positive("listener_threads", self.listener_threads)
        check_not_negative("memory_limit_bytes", self.memory_limit_bytes)
        check_positive("backoff_first_s", self.backoff_first_s)
        check_positive("backoff_max_s", self.backoff_max_s)

    @property
    def certificate(self) -> tuple[str | None, str | None]:
        """The files of the client's own certificate and key."""
        shown = self.authentication
        if isinstance(shown, AuthenticationTls):
            return shown.certificate_file, shown.key_file
        return self.tls_certificate_file, self.tls_key_file

    def _check_tls(self, url: ServiceUrl) -> None:
        """Refuse what would be ignored: a connection that seems safe and is not."""
        for name in ("tls_trust_certs_file", "tls_certificate_file", "tls_key_file"):
            value = getattr(self, name)
            if value is not None:
                check_text(name, value)
                if not url.tls:
                    raise InvalidValue(f"{name} is set, but {url} is plain: use pulsar+ssl://")
        check_flag("tls_verify_hostname", self.tls_verify_hostname)
        check_flag("tls_allow_insecure", self.tls_allow_insecure)
        if self.tls_minimum_version not in TLS_VERSIONS:
            raise InvalidValue(
                f"tls_minimum_version is {self.tls_minimum_version!a}; it must be one of "
                f"{', '.join(TLS_VERSIONS)}"
            )
        if (self.tls_certificate_file is None) != (self.tls_key_file is None):
            raise InvalidValue("tls_certificate_file and tls_key_file go together: give both")
        shown: object = self.authentication
        if shown is not None and not isinstance(shown, Authentication):
            raise InvalidValue(
                f"authentication is {type(shown).__name__}; it must be AuthenticationToken, "
                "AuthenticationBasic, AuthenticationTls, AuthenticationOAuth2, or have method and "
                "data() of its own"
            )
        if isinstance(shown, AuthenticationTls):
            if not url.tls:
                raise InvalidValue(f"AuthenticationTls needs TLS, but {url} is plain")
            if self.tls_certificate_file is not None:
                raise InvalidValue("AuthenticationTls and tls_certificate_file say it twice")


class ClientOptions(TypedDict, total=False):
    """The keyword arguments of ``Client``; ``ClientConfig`` says what they mean."""

    authentication: Authentication | None
    listener_name: str | None
    tls_trust_certs_file: str | None
    tls_certificate_file: str | None
    tls_key_file: str | None
    tls_verify_hostname: bool
    tls_allow_insecure: bool
    tls_minimum_version: str
    operation_timeout_s: float
    close_timeout_s: float | None
    connection_timeout_s: float
    first_connection_timeout_s: float
    keep_alive_interval_s: float
    connections_per_broker: int
    connection_idle_max_s: float
    lookup_redirects_max: int
    partitions_refresh_s: float
    stats_interval_s: float
    listener_threads: int
    memory_limit_bytes: int
    backoff_first_s: float
    backoff_max_s: float


class ClientSettings(ClientOptions):
    """All of them: what ``Client.from_env`` and ``Client.from_config`` find."""

    service_url: str
