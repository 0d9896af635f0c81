"""Which addresses a client may be connected to, when it names one. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Self

from magnetar.client.service_url import host_and_port
from magnetar.errors import InvalidValue, NotAllowed

from .settings import BrokerSettings

_ANY = "*"


@dataclass(frozen=True, slots=True)
class Targets:
    """The rules: brokers of the cluster, or what an operator allows in so many words."""

    hosts: tuple[str, ...] = ()
    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    ports: tuple[range, ...] = ()
    brokers_only: bool = True

    @classmethod
    def of(cls, settings: BrokerSettings) -> Self:
        """Raises InvalidValue, which says what is neither a network nor a port."""
        named = settings.allowed_hosts or settings.allowed_addresses
        return cls(
            tuple(host.lower() for host in settings.allowed_hosts if host != _ANY),
            tuple(_network(each) for each in settings.allowed_addresses if each != _ANY),
            () if _ANY in settings.allowed_ports else tuple(map(_ports, settings.allowed_ports)),
            brokers_only=settings.check_active or not named,
        )

    def check(self, address: str, is_broker: Callable[[str], bool]) -> None:
        """Whether ``host:port`` may be connected to, by its name. Raises NotAllowed."""
        host, port = host_and_port(address)
        if self.ports and not any(port in each for each in self.ports):
            raise NotAllowed(f"{address}: brokerProxyAllowedTargetPorts has no port {port}")
        if self.brokers_only and not is_broker(address):
            raise NotAllowed(f"{address} is no broker that this proxy knows")
        if self.hosts and not any(fnmatchcase(host.lower(), each) for each in self.hosts):
            raise NotAllowed(f"{address}: brokerProxyAllowedHostNames has no such name")

    def check_resolved(self, address: str, found: Sequence[str]) -> None:
        """Whether what its name stands for may be connected to. Raises NotAllowed."""
        for each in found:
            if self.networks and not any(ip_address(each) in net for net in self.networks):
                raise NotAllowed(f"{address}: brokerProxyAllowedIPAddresses has no {each}")


def _network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise InvalidValue(f"{text!r} is no address and no network such as 10.0.0.0/8") from None


def _ports(text: str) -> range:
    first, dash, last = text.partition("-")
    try:
        low = int(first)
        high = int(last) if dash else low
    except ValueError:
        raise InvalidValue(f"{text!r} is neither a port nor a range such as 6650-6660") from None
    return range(low, high + 1)
