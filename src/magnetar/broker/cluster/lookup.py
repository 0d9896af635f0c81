"""Where a topic is served: the answer to LOOKUP and to its HTTP twin."""

from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from magnetar.broker.resources import Resources
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName

from .ownership import Ownership

LOOPBACK_NAMES: Final = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A broker's URLs, as clients are told. An absent one is ""."""

    service_url: str
    web_url: str
    kept: bool
    """Clients keep the address they know: this one is ``localhost``, another machine wherever it is
    read, or nobody chose it, so that it may not lead here."""

    @classmethod
    def of(
        cls, host: str, port: int, web_port: int | None, *, chosen: bool = True
    ) -> "BrokerAddress":
        shown = f"[{host}]" if ":" in host else host
        return cls(
            service_url=f"pulsar://{shown}:{port}",
            web_url=f"http://{shown}:{web_port}" if web_port is not None else "",
            kept=is_loopback(host) or not chosen,
        )


class Lookup:
    """Finds the broker of a topic; here, always this one."""

    def __init__(self, resources: Resources, ownership: Ownership, own: BrokerAddress) -> None:
        self._resources = resources
        self._ownership = ownership
        self._own = own

    async def find(self, topic: TopicName) -> BrokerAddress:
        """The broker that serves ``topic``, from now on if nobody did. The topic need not exist.

        Raises TopicNotFound when its namespace does not.
        """
        if await self._resources.namespace(topic.namespace) is None:
            raise TopicNotFound("Namespace not found")
        await self._ownership.take(topic)
        return self._own


def is_loopback(host: str) -> bool:
    """Whether it means the machine that reads it."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
