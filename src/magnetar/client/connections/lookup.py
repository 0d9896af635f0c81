"""Which broker owns a topic, how many partitions it has, and what topics a namespace has."""

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from magnetar.client.config import ClientConfig
from magnetar.clock import Clock
from magnetar.errors import InvalidValue, MagnetarError, NotAllowed, NotReady
from magnetar.wire import requests
from magnetar.wire.errors import from_code

from .backoff import Backoff
from .connection import Connection, Endpoint
from .pool import ConnectionPool
from .retry import retry

log = logging.getLogger(__name__)
T = TypeVar("T")

PORT_DEFAULT: Final = 6650
PARTITIONS_MAX: Final = 10_000  # Each partition is a producer or a consumer of its own.
_REDIRECT: Final = 0  # LookupType in a LOOKUP_RESPONSE.
_FAILED: Final = 2
_METADATA_FAILED: Final = 1  # LookupType in a PARTITIONED_METADATA_RESPONSE.


def addresses(service_url: str) -> list[str]:
    """The ``host:port`` addresses of ``pulsar://host[:port][,host[:port]...]``.

    Raises InvalidValue, and NotAllowed for a scheme that this client does not speak.
    """
    scheme, separator, rest = service_url.partition("://")
    if not separator or not rest.strip("/"):
        raise InvalidValue(f"service URL {service_url!r} is not of the form pulsar://host:6650")
    if scheme != "pulsar":
        raise NotAllowed(f"service URL {service_url!r}: only pulsar:// is supported")
    found = []
    for address in rest.rstrip("/").split(","):
        host, colon, port = address.rpartition(":")
        if not colon or address.endswith("]"):
            host, port = address, str(PORT_DEFAULT)
        if not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise InvalidValue(f"service URL {service_url!r}: {address!r} is not host:port")
        found.append(f"{host}:{port}")
    return found


class Lookup:
    """Asks brokers about topics, again until the operation timeout when that may help."""

    def __init__(
        self,
        config: ClientConfig,
        pool: ConnectionPool,
        clock: Clock,
        backoff: Callable[[], Backoff],
    ) -> None:
        self._config = config
        self._pool = pool
        self._clock = clock
        self._backoff = backoff
        self._service = itertools.cycle(addresses(config.service_url))

    async def connect(self, topic: str) -> Connection:
        """Connect to the broker that owns ``topic``, in one attempt."""
        service = next(self._service)
        target = Endpoint(service, service)
        authoritative = False
        for _ in range(self._config.lookup_redirects_max + 1):
            connection = await self._pool.connect(target)
            ask = partial(requests.lookup, topic=topic, authoritative=authoritative)
            answer = await connection.request(ask, self._config.operation_timeout_s)
            found = answer.command.lookupTopicResponse
            if found.response == _FAILED:
                raise from_code(found.error, found.message)
            owner = addresses(found.brokerServiceUrl)[0]
            target = Endpoint(owner, service if found.proxy_through_service_url else owner)
            if found.response != _REDIRECT:
                return await self._pool.connect(target)
            authoritative = found.authoritative
        raise NotReady(
            f"no owner of {topic} after {self._config.lookup_redirects_max} redirects; try later"
        )

    async def partitions(self, topic: str, *, auto_create: bool = True) -> int:
        """The number of partitions of ``topic``, 0 when it is not partitioned.

        Raises TopicNotFound where the broker may not create it, TimedOut, and InvalidValue for
        more than PARTITIONS_MAX.
        """

        async def ask(connection: Connection) -> int:
            answer = await connection.request(
                partial(requests.partitioned_metadata, topic=topic, auto_create=auto_create),
                self._config.operation_timeout_s,
            )
            found = answer.command.partitionMetadataResponse
            if found.response == _METADATA_FAILED:
                raise from_code(found.error, found.message)
            if found.partitions > PARTITIONS_MAX:
                raise InvalidValue(
                    f"{topic} has {found.partitions} partitions, its broker says; this client goes "
                    f"up to {PARTITIONS_MAX}: use partitions by name, {topic}-partition-0 and so on"
                )
            return int(found.partitions)

        return await self._until_answered(ask)

    async def topics(self, namespace: str) -> list[str]:
        """The persistent topics of ``tenant/namespace``, partitions one by one, sorted."""

        async def ask(connection: Connection) -> list[str]:
            answer = await connection.request(
                partial(requests.topics_of_namespace, namespace=namespace),
                self._config.operation_timeout_s,
            )
            return sorted(answer.command.getTopicsOfNamespaceResponse.topics)

        return await self._until_answered(ask)

    async def _until_answered(self, ask: Callable[[Connection], Awaitable[T]]) -> T:
        async def attempt() -> T:
            service = next(self._service)
            try:
                return await ask(await self._pool.connect(Endpoint(service, service)))
            except MagnetarError as error:
                log.info("client.lookup_failed broker=%s error=%s", service, error)
                raise

        return await retry(
            attempt,
            limit=asyncio.timeout(self._config.operation_timeout_s),
            timed_out="no broker answered in time",
            backoff=self._backoff(),
            clock=self._clock,
        )
