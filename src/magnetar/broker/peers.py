"""The other brokers, asked with our client: its one user in here.

A broker asks as itself, with what ``brokerClientAuthenticationPlugin`` and its neighbours say: it
has asked already whether the role that it asks for may. What it passes on says so, and is answered
where it arrives or refused with ``MISDIRECTED``: no request goes in a circle.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from magnetar.clock import Clock
from magnetar.errors import ConnectionLost, NotReady
from magnetar.model.broker_address import BrokerAddress
from magnetar.model.bundles import Bundle
from magnetar.model.names import TopicName
from magnetar.model.txn_id import TxnId
from magnetar.rest.exchange import Reply, Request
from magnetar.wire import requests
from magnetar.wire.errors import from_code
from magnetar.wire.frames import Frame

if TYPE_CHECKING:  # Who has no peers does not pay for it.
    from magnetar.client.config import ClientConfig
    from magnetar.client.connections.connection import Connection
    from magnetar.client.connections.http_request import HttpRequests
    from magnetar.client.connections.pool import ConnectionPool

PASSED_ON: Final = "X-Magnetar-Passed-On"
"""The header of a request that a broker passed on; it names that broker."""
MISDIRECTED: Final = 421
"""The status for a request that was passed on to a broker that does not serve what it is about."""
_KEPT_HEADERS: Final = ("Allow", "Location")
_KEPT_BEGINNING: Final = "X-"  # Of what a message has, and of what is without effect.
ANSWER_TIMEOUT_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_SIZE_MAX: Final = 64 << 20  # The stats of one topic, or the names of many.


async def passed_on(
    http: "HttpRequests", base: str, request: Request, headers: Mapping[str, str]
) -> Reply:
    """What the server at ``base`` answers to a request. Raises ConnectionLost."""
    told = {"Accept": request.accept, **headers}
    if request.content_type is not None:
        told["Content-Type"] = request.content_type
    query = f"?{urlencode(request.query)}" if request.query else ""
    answer = await http.ask(
        [base], request.path + query, request.method, body=request.body or None, headers=told
    )
    kept = {
        name: value
        for name, value in answer.headers.items()
        if name in _KEPT_HEADERS or name.startswith(_KEPT_BEGINNING)
    }
    return Reply(answer.status, answer.body, answer.headers.get("Content-Type"), kept)


def requests_beside(*, timeout_s: float, answer_bytes: int) -> "HttpRequests":
    """How a process on this machine is asked, without credentials of a client."""
    from magnetar.client.connections.credentials import Credentials  # noqa: PLC0415 - as above
    from magnetar.client.connections.http_request import HttpRequests  # noqa: PLC0415

    return HttpRequests(
        Credentials(),
        None,
        timeout_s=timeout_s,
        connection_timeout_s=CONNECT_TIMEOUT_S,
        redirects=0,
        answer_bytes=answer_bytes,
    )


class Peers:
    """Asks brokers: by their admin APIs, and in the commands of the protocol."""

    def __init__(
        self, own: BrokerAddress, settings: Mapping[str, str], clock: Clock, *, tls: bool
    ) -> None:
        """``settings`` are a client's by Java's names: who this broker is, and whom it trusts."""
        self._own = own
        self._settings = settings
        self._by_tls = tls
        self._clock = clock
        self._requests: HttpRequests | None = None
        self._pool: ConnectionPool | None = None

    async def close(self) -> None:
        """Close the connections to brokers."""
        if self._pool is not None:
            await self._pool.close()

    async def end_transaction(
        self,
        broker: BrokerAddress,
        txn_id: TxnId,
        topic: TopicName,
        subscription: str | None,
        low_watermark: int,
        *,
        commit: bool,
    ) -> None:
        """Tell the owner of a topic how a transaction ends there, or on a subscription of it.

        Raises what it answers, and NotReady, ConnectionLost or TimedOut where it does not.
        """

        def build(request_id: int) -> bytes:
            if subscription is None:
                return requests.end_on_partition(
                    txn_id, str(topic), low_watermark, request_id, commit=commit
                )
            return requests.end_on_subscription(
                txn_id, str(topic), subscription, low_watermark, request_id, commit=commit
            )

        answer = (await self._send(broker, build)).command
        said = (
            answer.endTxnOnPartitionResponse
            if subscription is None
            else answer.endTxnOnSubscriptionResponse
        )
        if said.HasField("error"):
            raise from_code(said.error, said.message)

    async def join_transaction(
        self, broker: BrokerAddress, txn_id: TxnId, topic: TopicName, subscription: str | None
    ) -> None:
        """Tell the broker of a coordinator that a topic takes part, or a subscription of it.

        Raises as ``end_transaction``.
        """

        def build(request_id: int) -> bytes:
            if subscription is None:
                return requests.add_partitions(txn_id, [str(topic)], request_id)
            return requests.add_subscriptions(txn_id, [(str(topic), subscription)], request_id)

        connect = partial(requests.connect_coordinator, txn_id.most_bits)
        connected = (await self._send(broker, connect)).command.tcClientConnectResponse
        if connected.HasField("error"):
            raise from_code(connected.error, connected.message)
        answer = (await self._send(broker, build)).command
        said = (
            answer.addPartitionToTxnResponse
            if subscription is None
            else answer.addSubscriptionToTxnResponse
        )
        if said.HasField("error"):
            raise from_code(said.error, said.message)

    async def _send(self, broker: BrokerAddress, build: Callable[[int], bytes]) -> Frame:
        """What a broker answers to a command."""
        return await (await self.connect(broker)).request(build, ANSWER_TIMEOUT_S)

    async def connect(self, broker: BrokerAddress) -> "Connection":
        """The connection to a broker.

        Raises NotReady, ConnectionLost, TimedOut or NotAuthenticated.
        """
        from magnetar.client.connections.endpoint import Endpoint  # noqa: PLC0415

        address = self._address(broker)
        self._pool = self._pool or self._new_pool()
        return await self._pool.connect(Endpoint(address, address))

    async def refuses(self, broker: BrokerAddress) -> bool:
        """Whether nobody listens where a broker was; not where it cannot be known."""
        from magnetar.client.service_url import host_and_port  # noqa: PLC0415 - as above

        host, port = host_and_port(self._address(broker))
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                _, writer = await asyncio.open_connection(host, port)
        except ConnectionRefusedError:
            return True
        except (OSError, TimeoutError):
            return False
        writer.close()
        return False

    def _address(self, broker: BrokerAddress) -> str:
        """The ``host:port`` of a broker's clients. Raises NotReady where it has none."""
        url = self._url(broker, "port", broker.service_url, broker.service_url_tls)
        return url.rpartition("//")[2]

    def _new_pool(self) -> "ConnectionPool":
        from magnetar.client.connections.backoff import Backoff  # noqa: PLC0415 - as above
        from magnetar.client.connections.cluster import Cluster  # noqa: PLC0415
        from magnetar.client.connections.pool import ConnectionPool  # noqa: PLC0415

        config = self._config()
        backoff = partial(
            Backoff, _first, first_s=config.backoff_first_s, max_s=config.backoff_max_s
        )
        return ConnectionPool(config, Cluster(config, backoff, _first), self._clock)

    async def ask(self, broker: BrokerAddress, request: Request) -> Reply:
        """What a broker's admin API answers to a request. Raises NotReady where it does not."""
        base = self._url(broker, "admin API", broker.web_url, broker.web_url_tls)
        self._requests = self._requests or self._opened()
        try:
            answer = await passed_on(self._requests, base, request, {PASSED_ON: self._own.name})
        except ConnectionLost as error:
            raise NotReady(f"The broker {broker.name} did not answer: {error}") from error
        if answer.status == 401:
            raise NotReady(
                f"The broker {broker.name} did not let this one ask (401): set "
                "brokerClientAuthenticationPlugin and brokerClientAuthenticationParameters to what "
                "a superuser shows"
            )
        return answer

    async def non_persistent_topics(self, broker: BrokerAddress, bundle: Bundle) -> list[TopicName]:
        """Those of a bundle that a broker serves. Raises NotReady where it does not say."""
        path = f"/admin/v2/non-persistent/{bundle.namespace}/{bundle.range}"
        answer = await self.ask(broker, Request("GET", path))
        if answer.status != 200:
            raise NotReady(
                f"The broker {broker.name} did not say which topics {bundle} has ({answer.status})"
            )
        return list(map(TopicName.parse, json.loads(answer.body)))

    def _url(self, broker: BrokerAddress, what: str, plain: str, tls: str) -> str:
        """The one of two addresses that is used here. Raises NotReady where it is missing."""
        url = tls if self._by_tls else plain
        if not url:
            kind = "with" if self._by_tls else "without"
            raise NotReady(
                f"The broker {broker.name} has no {what} {kind} TLS: set brokerClientTlsEnabled "
                "as its ports are"
            )
        return url

    def _opened(self) -> "HttpRequests":
        from magnetar.client.connections.credentials import Credentials  # noqa: PLC0415 - as above
        from magnetar.client.connections.http_request import HttpRequests  # noqa: PLC0415
        from magnetar.client.connections.tls import Tls  # noqa: PLC0415

        config = self._config()
        return HttpRequests(
            Credentials(config.authentication),
            Tls(config) if self._by_tls else None,
            timeout_s=ANSWER_TIMEOUT_S,
            connection_timeout_s=CONNECT_TIMEOUT_S,
            redirects=0,
            answer_bytes=ANSWER_SIZE_MAX,
        )

    def _config(self) -> "ClientConfig":
        from magnetar.client.authentication.plugins import authentication_of  # noqa: PLC0415
        from magnetar.client.config import ClientConfig  # noqa: PLC0415 - as above

        said = self._settings
        plugin = said.get("authPluginClassName")
        return ClientConfig(
            # Not connected to: settings are of use here, and whether it is TLS.
            service_url="pulsar+ssl://localhost" if self._by_tls else "pulsar://localhost",
            authentication=authentication_of(plugin, said["authParams"]) if plugin else None,
            tls_trust_certs_file=said.get("tlsTrustCertsFilePath"),
            tls_certificate_file=said.get("tlsCertificateFilePath"),
            tls_key_file=said.get("tlsKeyFilePath"),
            connection_idle_max_s=0,  # Its end is how a broker's is known.
        )


def _first() -> float:
    return 0.0
