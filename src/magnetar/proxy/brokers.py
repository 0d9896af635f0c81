"""The brokers of a cluster, as a proxy knows them: those that run, or fixed addresses."""

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from magnetar.client.service_url import ServiceUrl, host_and_port
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError, NotReady
from magnetar.model.broker_address import BrokerAddress
from magnetar.storage.codec.codec import Codec
from magnetar.storage.metadata import paths
from magnetar.storage.metadata.store import MetadataStore

log = logging.getLogger(__name__)
T = TypeVar("T")

AGAIN_S: Final = 1.0
"""After so long it is tried again to read which brokers run."""
NAMED_MAX: Final = 10_000
"""Addresses of brokers that lookups named: the oldest are forgotten."""


class Brokers:
    """Addresses to ask, in turn, and whether an address is a broker's."""

    def __init__(
        self, binary: Iterable[str] = (), web: Iterable[str] = (), *, tls: bool = False
    ) -> None:
        """``binary`` are ``host:port``, ``web`` are URLs; both with TLS if ``tls``."""
        self._tls = tls
        self._fixed = True  # Until it is known which brokers run.
        self._turn = 0
        self.binary: tuple[str, ...] = tuple(binary)
        self.web: tuple[str, ...] = tuple(web)
        self._tls_ports: dict[str, list[str]] = {}  # By host name.
        self._named: dict[str, None] = {}

    def replace(self, running: Sequence[BrokerAddress]) -> None:
        """These run now, and no others."""
        urls = [one.service_url_tls if self._tls else one.service_url for one in running]
        webs = [one.web_url_tls if self._tls else one.web_url for one in running]
        self.binary = tuple(_address(url) for url in urls if url)
        self.web = tuple(url for url in webs if url)
        self._fixed = False
        self._tls_ports = {}
        for one in running:
            if one.service_url_tls:
                address = _address(one.service_url_tls)
                host = host_and_port(address)[0].lower()
                self._tls_ports.setdefault(host, []).append(address)

    def named(self, address: str) -> None:
        """A broker has named this one."""
        self._named.pop(address, None)
        self._named[address] = None
        if len(self._named) > NAMED_MAX:
            del self._named[next(iter(self._named))]

    def is_broker(self, address: str) -> bool:
        """Whether ``host:port`` is that of a broker that is known."""
        return address in self.binary or address in self._named

    def is_web(self, address: str) -> bool:
        """The same of HTTP; any that a broker names, where a fixed address stands for many."""
        return self._fixed or any(url.partition("://")[2] == address for url in self.web)

    def to_ask(self) -> list[str]:
        """All addresses, another one first each time. Raises NotReady where there is none."""
        return self._in_turn(self.binary, "broker")

    def to_ask_web(self) -> list[str]:
        """The same of HTTP."""
        return self._in_turn(self.web, "admin API of a broker")

    def tls_port_of(self, host: str) -> str | None:
        """Where the one broker with this host name speaks TLS; None for none, or several."""
        found = self._tls_ports.get(host.lower(), ())
        return found[0] if len(found) == 1 else None

    def _in_turn(self, among: tuple[T, ...], what: str) -> list[T]:
        if not among:
            raise NotReady(f"the proxy knows no {what}: it asks again when one is there")
        self._turn += 1
        first = self._turn % len(among)
        return [*among[first:], *among[:first]]


async def keep_up(brokers: Brokers, metadata: MetadataStore, codec: Codec, clock: Clock) -> None:
    """Keep the brokers to those that have records in the metadata store, for ever.

    While it cannot be read, those that were known stay: whoever does not answer is passed over.
    """
    changed = asyncio.Event()
    watch = metadata.watch(paths.BROKERS, lambda _path: changed.set())
    try:
        while True:
            changed.clear()
            try:
                brokers.replace(await running(metadata, codec))
            except MagnetarError as error:
                log.warning("proxy.brokers_unknown error=%s", error)
                await clock.sleep(AGAIN_S)
            else:
                log.info("proxy.brokers running=%s", ",".join(brokers.binary))
                await changed.wait()
    finally:
        watch.cancel()


async def running(metadata: MetadataStore, codec: Codec) -> list[BrokerAddress]:
    """The brokers that have a record. Raises what the metadata store raises."""
    found = []
    for child in sorted(await metadata.children(paths.BROKERS)):
        record = await metadata.get(f"{paths.BROKERS}/{child}")  # Pulsar encodes no colon.
        if record is not None:
            try:
                found.append(codec.decode_owner(record.value))
            except InvalidValue as error:  # One that writes something else is none to ask.
                log.warning("proxy.broker_unreadable broker=%s error=%s", child, error)
    return found


def _address(url: str) -> str:
    return ServiceUrl.parse(url).addresses[0]
