"""Where a broker is reached. Pure."""

from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from magnetar.late_dataclass import dataclass

LOOPBACK_NAMES: Final = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A broker's URLs, as clients are told. An absent one is ""."""

    service_url: str
    web_url: str
    service_url_tls: str = ""
    web_url_tls: str = ""

    @classmethod
    def of(
        cls,
        host: str,
        port: int | None,
        web_port: int | None,
        *,
        port_tls: int | None = None,
        web_port_tls: int | None = None,
    ) -> "BrokerAddress":
        shown = f"[{host}]" if ":" in host else host

        def url(scheme: str, port: int | None) -> str:
            return "" if port is None else f"{scheme}://{shown}:{port}"

        return cls(
            service_url=url("pulsar", port),
            web_url=url("http", web_port),
            service_url_tls=url("pulsar+ssl", port_tls),
            web_url_tls=url("https", web_port_tls),
        )

    @property
    def name(self) -> str:
        """The broker's id: ``host:port`` of its admin API, or of its clients."""
        first = self.web_url or self.web_url_tls or self.service_url or self.service_url_tls
        return first.partition("://")[2]

    @property
    def host(self) -> str:
        """What this broker is called in its URLs."""
        return urlsplit(f"//{self.name}").hostname or ""


def is_loopback(host: str) -> bool:
    """Whether a host means the machine that resolves it."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
