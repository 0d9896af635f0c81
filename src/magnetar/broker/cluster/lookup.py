"""Which broker serves a topic: the answer to LOOKUP and to HTTP lookup."""

import asyncio
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from magnetar.broker.resources import Resources
from magnetar.errors import TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.operation_counts import OperationCounts

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
        chosen: bool = True,
    ) -> "BrokerAddress":
        shown = f"[{host}]" if ":" in host else host

        def url(scheme: str, port: int | None) -> str:
            return "" if port is None else f"{scheme}://{shown}:{port}"

        return cls(
            service_url=url("pulsar", port),
            web_url=url("http", web_port),
            kept=is_loopback(host) or not chosen,
            service_url_tls=url("pulsar+ssl", port_tls),
            web_url_tls=url("https", web_port_tls),
        )

    @property
    def name(self) -> str:
        """What it is called among brokers: ``host:port`` of its admin API, or of its clients."""
        first = self.web_url or self.web_url_tls or self.service_url or self.service_url_tls
        return first.partition("://")[2]

    @property
    def host(self) -> str:
        """What this broker is called in its URLs."""
        return urlsplit(f"//{self.name}").hostname or ""


class Lookup:
    """Finds the broker of a topic, which is always this one."""

    def __init__(self, resources: Resources, ownership: Ownership, own: BrokerAddress) -> None:
        self._resources = resources
        self._ownership = ownership
        self._own = own
        self.counts = OperationCounts()

    async def find(self, topic: TopicName) -> BrokerAddress:
        """The broker that serves ``topic``, which need not exist, from now on.

        Raises TopicNotFound when its namespace does not.
        """
        with self.counts.counted(asyncio.get_running_loop().time):
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
