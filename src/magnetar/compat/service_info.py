"""Where a cluster is, and which of several is used."""

from collections.abc import Callable
from typing import Final

from .authentication import Authentication
from .checks import check_type, check_type_or_none

_TLS: Final = ("pulsar+ssl", "https")


class ServiceInfo:
    """Where one cluster is, and how the client shows it who it is."""

    def __init__(
        self,
        service_url: str,
        authentication: Authentication | None = None,
        tls_trust_certs_file_path: str | None = None,
    ) -> None:
        """Raises ValueError."""
        check_type(str, service_url, "service_url")
        check_type_or_none(Authentication, authentication, "authentication")
        check_type_or_none(str, tls_trust_certs_file_path, "tls_trust_certs_file_path")
        check_scheme(service_url)
        self._service_url = service_url
        self._authentication = authentication
        self._trusted = tls_trust_certs_file_path

    @property
    def service_url(self) -> str:
        return self._service_url

    @property
    def use_tls(self) -> bool:
        return self._service_url.partition("://")[0] in _TLS

    @property
    def tls_trust_certs_file_path(self) -> str | None:
        return self._trusted

    def __repr__(self) -> str:
        return (
            f"ServiceInfo(service_url={self.service_url!r}, use_tls={self.use_tls!r}, "
            f"tls_trust_certs_file_path={self.tls_trust_certs_file_path!r})"
        )

    @classmethod
    def wrap(cls, service_info: "ServiceInfo") -> "ServiceInfo":
        """The same. (There is one class here, and two in ``pulsar-client``.)"""
        return service_info


class ServiceInfoProvider:
    """Says where the cluster is, and again when that changes: to be derived from."""

    def initial_service_info(self) -> ServiceInfo:
        """Where it is at first."""
        raise NotImplementedError

    def initialize(self, on_service_info_update: Callable[[ServiceInfo], None]) -> None:
        """Keep the function, to be called with every change."""
        raise NotImplementedError

    def close(self) -> None:
        """The client is closed."""


class AutoClusterFailover:
    """A cluster, and others to use while it cannot be reached."""

    def __init__(
        self,
        primary: ServiceInfo,
        secondary: list[ServiceInfo],
        check_interval_ms: int = 5000,
        failover_threshold: int = 1,
        switch_back_threshold: int = 1,
    ) -> None:
        """Looked at every ``check_interval_ms``; so many failures or successes change clusters.

        Raises ValueError.
        """
        check_type(ServiceInfo, primary, "primary")
        check_type(list, secondary, "secondary")
        check_type(int, check_interval_ms, "check_interval_ms")
        check_type(int, failover_threshold, "failover_threshold")
        check_type(int, switch_back_threshold, "switch_back_threshold")
        if not secondary:
            raise ValueError("Argument secondary is expected to contain at least one ServiceInfo")
        for index, each in enumerate(secondary):
            check_type(ServiceInfo, each, f"secondary[{index}]")
        for name, number in (
            ("check_interval_ms", check_interval_ms),
            ("failover_threshold", failover_threshold),
            ("switch_back_threshold", switch_back_threshold),
        ):
            if number <= 0:
                raise ValueError(f"Argument {name} is expected to be greater than 0")
        self.primary = primary
        self.secondary = list(secondary)
        self.check_interval_ms = check_interval_ms
        self.failover_threshold = failover_threshold
        self.switch_back_threshold = switch_back_threshold

    def __repr__(self) -> str:
        return (
            f"AutoClusterFailover(primary={self.primary!r}, secondary={self.secondary!r}, "
            f"check_interval_ms={self.check_interval_ms!r}, "
            f"failover_threshold={self.failover_threshold!r}, "
            f"switch_back_threshold={self.switch_back_threshold!r})"
        )


def check_scheme(service_url: str) -> None:
    """Raises ValueError for a URL that names no protocol."""
    if "://" not in service_url:
        raise ValueError(f"The scheme part is missing: {service_url}")
