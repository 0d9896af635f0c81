"""Which broker owns a topic, how many partitions it has, and what topics a namespace has."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeVar

from magnetar.client.config import ClientConfig
from magnetar.client.service_url import ServiceUrl
from magnetar.clock import Clock
from magnetar.errors import (
    ConnectionLost,
    InvalidValue,
    MagnetarError,
    NotAllowed,
    NotAuthorized,
    NotFound,
    NotReady,
    SchemaNotFound,
    TimedOut,
    TopicNotFound,
    Unavailable,
    Unreachable,
)
from magnetar.model.schemas import SchemaInfo
from magnetar.model.subscriptions import RegexSubscriptionMode
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.schemas import declared

from .backoff import Backoff
from .cluster import Cluster
from .connection import Connection
from .endpoint import Endpoint
from .http_lookup import HttpLookup
from .pool import ConnectionPool
from .retry import retry
from .topic_list_watch import TopicListWatch

log = logging.getLogger(__name__)
T = TypeVar("T")

PARTITIONS_MAX: Final = 10_000  # Each partition is a producer or a consumer of its own.
_REDIRECT: Final = 0  # LookupType in a LOOKUP_RESPONSE.
_FAILED: Final = 2
_METADATA_FAILED: Final = 1  # LookupType in a PARTITIONED_METADATA_RESPONSE.


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
        self._first_until: float | None = None

    async def connect(self, topic: str) -> Connection:
        """Connect to the broker that owns ``topic``, in one attempt."""
        cluster = self._pool.cluster
        connection = await self._owner(cluster, topic)
        if self._pool.cluster is not cluster:
            raise ConnectionLost("the client went over to another cluster meanwhile")
        return connection

    async def pause(self, seconds: float, clock: Clock) -> None:
        """Wait before the next attempt, but not when another cluster may do better at once."""
        await self._pool.pause(seconds, clock)

    async def _owner(self, cluster: Cluster, topic: str) -> Connection:
        if cluster.url.http:
            http = HttpLookup(self._config, cluster)
            url = await self._reach(cluster, partial(http.owner, topic=topic))
            owner = _address(url, topic, tls=cluster.url.tls)
            return await self._connect_where_told(cluster, Endpoint(owner, owner))
        connection = await self._reach(cluster, partial(self._connect, cluster))
        service = connection.endpoint.physical
        authoritative = False
        for _ in range(self._config.lookup_redirects_max + 1):
            ask = partial(
                requests.lookup,
                topic=topic,
                authoritative=authoritative,
                listener_name=self._config.listener_name,
            )
            answer = await connection.request(ask, self._config.operation_timeout_s)
            found = answer.command.lookupTopicResponse
            if found.response == _FAILED:
                cluster.addresses.skip(service)
                raise from_code(found.error, found.message)
            url = found.brokerServiceUrlTls if cluster.url.tls else found.brokerServiceUrl
            owner = _address(url, topic, tls=cluster.url.tls)
            target = Endpoint(owner, service if found.proxy_through_service_url else owner)
            connection = await self._connect_where_told(cluster, target)
            if found.response != _REDIRECT:
                return connection
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
            return int(found.partitions)

        def over_http(http: HttpLookup, address: str) -> Awaitable[int]:
            return http.partitions(address, topic, auto_create=auto_create)

        count = await self._until_answered(ask, over_http, about=topic)
        if count > PARTITIONS_MAX:
            raise InvalidValue(
                f"{topic} has {count} partitions, its broker says; this client goes up to "
                f"{PARTITIONS_MAX}: use partitions by name, {topic}-partition-0 and so on"
            )
        return count

    async def topics(
        self,
        namespace: str,
        mode: RegexSubscriptionMode = RegexSubscriptionMode.PERSISTENT_ONLY,
        pattern: str | None = None,
    ) -> list[str]:
        """The topics of ``tenant/namespace``, partitions one by one, sorted.

        A broker that knows how leaves out what does not match ``pattern``.
        """

        async def ask(connection: Connection) -> list[str]:
            answer = await connection.request(
                partial(
                    requests.topics_of_namespace, namespace=namespace, mode=mode, pattern=pattern
                ),
                self._config.operation_timeout_s,
            )
            return sorted(answer.command.getTopicsOfNamespaceResponse.topics)

        def over_http(http: HttpLookup, address: str) -> Awaitable[list[str]]:
            return http.topics(address, namespace, mode)

        return sorted(await self._until_answered(ask, over_http, about=namespace))

    async def watch_topics(self, watch: TopicListWatch) -> None:
        """Have a broker tell ``watch`` from now on. Raises NotAllowed where none can."""

        async def begin(connection: Connection) -> None:
            await watch.begin(connection, self._config.operation_timeout_s)

        await self._until_answered(begin)

    async def schema(self, topic: str, version: bytes | None) -> SchemaInfo:
        """One version of the topic's schema, or the latest.

        Raises SchemaNotFound, TimedOut, the broker's error.
        """

        async def ask(connection: Connection) -> SchemaInfo:
            answer = await connection.request(
                partial(requests.get_schema, topic=topic, version=version),
                self._config.operation_timeout_s,
            )
            found = answer.command.getSchemaResponse
            if found.HasField("error_code"):
                error = from_code(found.error_code, found.error_message)
                raise SchemaNotFound(str(error)) if isinstance(error, TopicNotFound) else error
            return declared(found.schema)

        def over_http(http: HttpLookup, address: str) -> Awaitable[SchemaInfo]:
            return http.schema(address, topic, version)

        return await self._until_answered(ask, over_http, about=topic)

    async def _connect(self, cluster: Cluster, address: str) -> Connection:
        return await self._pool.connect(Endpoint(address, address), cluster)

    async def _connect_where_told(self, cluster: Cluster, target: Endpoint) -> Connection:
        try:
            return await self._pool.connect(target, cluster)
        except (ConnectionLost, TimedOut) as error:
            if target.physical in cluster.url.addresses:
                raise
            raise ConnectionLost(
                f"{error}; {cluster.url} advertises this address: can it be reached from here, or "
                "is there a listener_name for us?"
            ) from error

    async def _reach(self, cluster: Cluster, use: Callable[[str], Awaitable[T]]) -> T:
        """What ``use`` makes of the first address of the service URL that answers.

        Raises Unreachable when none does and none ever has, and after that ConnectionLost, for a
        broker that was there is likely to come back.
        """
        failures: list[MagnetarError] = []
        if self._first_until is None:
            self._first_until = self._clock.now() + self._config.first_connection_timeout_s
        for address in cluster.addresses.in_turn(self._clock.now()):
            try:
                found = await use(address)
            except Unavailable as error:
                cluster.addresses.failed(address, self._clock.now())
                failures.append(error)
            else:
                cluster.addresses.worked(address)
                cluster.reached = True
                return found
        waits = self._clock.now() < self._first_until
        silent = all(isinstance(error, ConnectionLost | TimedOut) for error in failures)
        if cluster.reached or waits or not silent:
            raise failures[-1]
        raise Unreachable("; ".join(map(str, failures))) from failures[-1]

    async def _until_answered(
        self,
        ask: Callable[[Connection], Awaitable[T]],
        over_http: Callable[[HttpLookup, str], Awaitable[T]] | None = None,
        *,
        about: str = "",
    ) -> T:
        """What a broker answers over a connection, or over HTTP where the service URL says so.

        Its errors name what it was asked ``about``.
        """

        async def attempt() -> T:
            cluster = self._pool.cluster
            if cluster.url.http:
                if over_http is None:
                    raise NotAllowed(f"brokers cannot be asked for this over {cluster.url.scheme}")
                http = HttpLookup(self._config, cluster)
                return await self._reach(cluster, partial(over_http, http))
            connection = await self._reach(cluster, partial(self._connect, cluster))
            try:
                return await ask(connection)
            except MagnetarError as error:
                service = connection.endpoint.physical
                log.info("client.lookup_failed broker=%s error=%s", service, error)
                cluster.addresses.skip(service)
                raise naming(error, about) from error.__cause__

        return await retry(
            attempt,
            limit=asyncio.timeout(self._config.operation_timeout_s),
            timed_out=(
                f"{self._pool.cluster.url} did not answer within "
                f"{self._config.operation_timeout_s:g} s"
            ),
            backoff=self._backoff(),
            clock=self._clock,
        )


def naming(error: MagnetarError, name: str) -> MagnetarError:
    """The error that something is missing or not allowed, with its name, which not all brokers say.

    All others are returned as they are.
    """
    if not isinstance(error, NotFound | NotAuthorized) or name in str(error):
        return error
    text = "there is no such topic" if str(error) == TopicNotFound.__name__ else error
    return type(error)(f"{text}: {name}")


def _address(url: str, topic: str, *, tls: bool) -> str:
    if not url:
        kind = "pulsar+ssl://" if tls else "pulsar://"
        raise InvalidValue(f"the owner of {topic} has no {kind} address: it was asked over {kind}")
    return ServiceUrl.parse(url).addresses[0]
