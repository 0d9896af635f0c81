"""The address of a Pulsar cluster, as an application writes it. Pure."""

from dataclasses import dataclass
from typing import Final, Self

from magnetar.errors import InvalidValue

PORTS: Final = {"pulsar": 6650, "pulsar+ssl": 6651, "http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class ServiceUrl:
    """``scheme://host[:port][,host[:port]...]``, read."""

    scheme: str
    addresses: tuple[str, ...]  # Each host:port.

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises InvalidValue, which repeats nothing that may be secret."""
        scheme, separator, rest = text.partition("://")
        if not separator or scheme not in PORTS:
            raise InvalidValue(
                f"service URL {without_secrets(text)!r} is none of pulsar://host:6650, "
                "pulsar+ssl://host:6651, http://host:8080 and https://host:8443"
            )
        if "@" in rest or "?" in rest or "#" in rest:
            raise InvalidValue(
                f"service URL {without_secrets(text)!r}: it takes no user, password or parameters; "
                "say who you are with authentication=..."
            )
        found = [_address(scheme, each, text) for each in rest.rstrip("/").split(",")]
        return cls(scheme, tuple(dict.fromkeys(found)))

    @property
    def tls(self) -> bool:
        return self.scheme in {"pulsar+ssl", "https"}

    @property
    def http(self) -> bool:
        """Whether brokers are asked about topics over HTTP."""
        return self.scheme in {"http", "https"}

    def __str__(self) -> str:
        return f"{self.scheme}://{','.join(self.addresses)}"


def without_secrets(text: str) -> str:
    """The URL as it may be printed: without what stands where a user, password or token might."""
    scheme, separator, rest = text.partition("://")
    if not separator:
        scheme, rest = "", text
    if "@" in rest:
        rest = "***@" + rest.rpartition("@")[2]
    for mark in "?#":
        before, found, _ = rest.partition(mark)
        rest = f"{before}?***" if found else before
    return f"{scheme}{separator}{rest}"


def host_and_port(address: str) -> tuple[str, int]:
    """An address of a service URL in its parts; the host without the brackets of IPv6."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), int(port)


def _address(scheme: str, text: str, url: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(PORTS[scheme])
    bracketed = host.startswith("[") and host.endswith("]")
    named = host and not any(each in host for each in "/ \t[]") and ":" not in host
    if not (named or bracketed) or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidValue(f"service URL {url!r}: {text!r} is not host:port")
    return f"{host}:{int(port)}"
