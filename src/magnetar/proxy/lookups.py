"""What clients ask a proxy about topics, asked of a broker in their names."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from magnetar.client.config import ClientConfig
from magnetar.client.connections.backoff import Backoff
from magnetar.client.connections.cluster import Cluster
from magnetar.client.connections.credentials import Credentials
from magnetar.client.connections.endpoint import Endpoint
from magnetar.client.connections.pool import ConnectionPool
from magnetar.client.service_url import ServiceUrl
from magnetar.clock import Clock
from magnetar.errors import (
    ConnectionLost,
    MagnetarError,
    NotReady,
    Refused,
    TimedOut,
    UnexpectedCommand,
)
from magnetar.wire import replies
from magnetar.wire.commands import BaseCommand, CommandLookupTopic, CommandLookupTopicResponse
from magnetar.wire.frames import Frame, encode
from magnetar.wire.requests import OnBehalf

from .brokers import Brokers
from .counts import ProxyCounts

log = logging.getLogger(__name__)

ANSWER_TIMEOUT_S: Final = 30.0


class _Question(NamedTuple):
    """A command that is passed on: where it stands in a frame, and where its answer does."""

    field: str
    answer: str
    failed: Callable[[int, MagnetarError], bytes] = replies.error


QUESTIONS: Final = {
    BaseCommand.LOOKUP: _Question("lookupTopic", "lookupTopicResponse", replies.lookup_failed),
    BaseCommand.PARTITIONED_METADATA: _Question(
        "partitionMetadata", "partitionMetadataResponse", replies.partitioned_metadata_failed
    ),
    BaseCommand.GET_TOPICS_OF_NAMESPACE: _Question(
        "getTopicsOfNamespace", "getTopicsOfNamespaceResponse"
    ),
    BaseCommand.GET_SCHEMA: _Question("getSchema", "getSchemaResponse"),
}
"""By the type of the command."""


class Lookups:
    """Asks brokers by connections that clients of one role share."""

    def __init__(
        self,
        config: ClientConfig,
        brokers: Brokers,
        counts: ProxyCounts,
        clock: Clock,
        *,
        tls: bool,
        running_max: int,
    ) -> None:
        """``config`` has who the proxy is and whom it trusts."""
        self._config = config
        self._brokers = brokers
        self._counts = counts
        self._tls = tls
        self._running_max = running_max
        self._backoff = partial(
            Backoff, _first, first_s=config.backoff_first_s, max_s=config.backoff_max_s
        )
        self._pool = ConnectionPool(config, self._cluster(None), clock)
        self._clusters: WeakValueDictionary[OnBehalf, Cluster] = WeakValueDictionary()

    async def close(self) -> None:
        """Close the connections to brokers."""
        await self._pool.close()

    def refuses(self, command: BaseCommand) -> bytes | None:
        """The refusal of a question where too many are being asked; None: it has a place.

        Then the caller must ``answer`` it. Raises UnexpectedCommand.
        """
        question = QUESTIONS.get(command.type)
        if question is None:
            raise UnexpectedCommand(f"command {command.type} is for a broker, and this is a proxy")
        if self._counts.lookups_running < self._running_max:
            self._counts.lookups_running += 1
            return None
        self._counts.lookups_refused += 1
        error = Refused("Too many concurrent lookup requests: maxConcurrentLookupRequests")
        return question.failed(getattr(command, question.field).request_id, error)

    async def answer(self, command: BaseCommand, on_behalf: OnBehalf) -> bytes:
        """The frame that answers a question of a client's, whatever happens."""
        question = QUESTIONS[command.type]
        asked = getattr(command, question.field)
        client_id = asked.request_id
        self._counts.lookups += 1
        try:
            if command.type == BaseCommand.LOOKUP:
                answer: Any = await self._find(asked, on_behalf)
            else:
                frame, _ = await self._ask(asked, on_behalf)
                answer = getattr(frame.command, question.answer)
        except MagnetarError as error:
            log.info("proxy.not_answered command=%s error=%s", question.field, error)
            told = error if not isinstance(error, ConnectionLost | TimedOut) else _away(error)
            return question.failed(client_id, told)
        finally:
            self._counts.lookups_running -= 1
        answer.request_id = client_id
        return encode(answer)

    async def _find(
        self, asked: CommandLookupTopic, on_behalf: OnBehalf
    ) -> CommandLookupTopicResponse:
        """Where a topic is: as the broker says that serves it, for this proxy to go there."""
        there: str | None = None
        for _ in range(self._config.lookup_redirects_max + 1):
            frame, address = await self._ask(asked, on_behalf, there)
            found = frame.command.lookupTopicResponse
            if found.response == CommandLookupTopicResponse.Failed:
                return found
            if not found.proxy_through_service_url:
                address = self._address(found)
            self._brokers.named(address)
            if found.response == CommandLookupTopicResponse.Connect:
                found.brokerServiceUrl = f"pulsar://{address}"
                found.brokerServiceUrlTls = f"pulsar+ssl://{address}"
                found.proxy_through_service_url = True
                return found
            asked.authoritative, there = found.authoritative, address
        raise NotReady(f"{asked.topic}: brokers send the lookup on without an end")

    def _address(self, found: CommandLookupTopicResponse) -> str:
        url = found.brokerServiceUrlTls if self._tls else found.brokerServiceUrl
        if not url:
            kind = "with" if self._tls else "without"
            raise NotReady(
                f"the broker of the topic has no port {kind} TLS: set tlsEnabledWithBroker as its "
                "ports are"
            )
        return ServiceUrl.parse(url).addresses[0]

    async def _ask(
        self, asked: Any, on_behalf: OnBehalf, there: str | None = None
    ) -> tuple[Frame, str]:
        """What a broker answers, and its address; where one does not, the next is asked."""

        def build(request_id: int) -> bytes:
            asked.request_id = request_id
            return encode(asked)

        cluster = self._clusters.get(on_behalf)
        if cluster is None:
            cluster = self._clusters[on_behalf] = self._cluster(on_behalf)
        lost: MagnetarError = NotReady("no broker answers")
        for address in [there] if there else self._brokers.to_ask():
            try:
                connection = await self._pool.connect(Endpoint(address, address), cluster)
                return await connection.request(build, ANSWER_TIMEOUT_S), address
            except (ConnectionLost, TimedOut) as error:
                lost = error
        raise lost

    def _cluster(self, on_behalf: OnBehalf | None) -> Cluster:
        cluster = Cluster(self._config, self._backoff, _first)
        cluster.credentials = Credentials(self._config.authentication, on_behalf)
        return cluster


def _away(error: MagnetarError) -> MagnetarError:
    """Clients try again what is not ready; their own connection, to the proxy, is not lost."""
    return NotReady(f"no broker answers: {error}")


def _first() -> float:
    return 0.0
