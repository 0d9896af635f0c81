"""Which broker serves a topic: the answer to LOOKUP and to HTTP lookup."""

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
    """Clients go on with the address they know. These URLs may not lead here: they have
    ``localhost``, which is another machine elsewhere, or a host that nobody configured."""

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
    """Finds the broker of a topic, which is always this one."""

    def __init__(self, resources: Resources, ownership: Ownership, own: BrokerAddress) -> None:
        self._resources = resources
        self._ownership = ownership
        self._own = own

    async def find(self, topic: TopicName) -> BrokerAddress:
        """The broker that serves ``topic``, which need not exist, from now on.

        Raises TopicNotFound when its namespace does not.
        """
        if await self._resources.namespace(topic.namespace) is None:
            raise TopicNotFound("Namespace not found")
        await self._ownership.take(topic)
        return self._own


def is_loopback(host: str) -> bool:
    """Whether a host means the machine that resolves it."""
    if host in LOOPBACK_NAMES:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
