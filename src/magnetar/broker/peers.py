"""The other brokers, asked with our client: its one user in here.

A broker asks as itself, with what ``brokerClientAuthenticationPlugin`` and its neighbours say: it
has asked already whether the role that it asks for may. What it passes on says so, and is answered
where it arrives or refused with ``MISDIRECTED``: no request goes in a circle.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode

from magnetar.errors import ConnectionLost, NotReady
from magnetar.model.broker_address import BrokerAddress
from magnetar.rest.exchange import WITHOUT_EFFECT, Reply, Request

if TYPE_CHECKING:  # Who has no peers does not pay for it.
    from magnetar.client.connections.http_request import HttpRequests

PASSED_ON: Final = "X-Magnetar-Passed-On"
"""The header of a request that a broker passed on; it names that broker."""
MISDIRECTED: Final = 421
"""The status for a request that was passed on to a broker that does not serve what it is about."""
_KEPT_HEADERS: Final = ("Allow", WITHOUT_EFFECT)
ANSWER_TIMEOUT_S: Final = 30.0
CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_SIZE_MAX: Final = 64 << 20  # The stats of one topic, or the names of many.


async def passed_on(
    requests: "HttpRequests", base: str, request: Request, headers: Mapping[str, str]
) -> Reply:
    """What the server at ``base`` answers to a request. Raises ConnectionLost."""
    told = {"Accept": request.accept, **headers}
    if request.content_type is not None:
        told["Content-Type"] = request.content_type
    query = f"?{urlencode(request.query)}" if request.query else ""
    answer = await requests.ask(
        [base], request.path + query, request.method, body=request.body or None, headers=told
    )
    kept = {name: answer.headers[name] for name in _KEPT_HEADERS if name in answer.headers}
    kind = answer.headers.get("Content-Type") if answer.body else None
    return Reply(answer.status, answer.body, kind, kept)


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
    """Asks brokers."""

    def __init__(self, own: BrokerAddress, settings: Mapping[str, str], *, tls: bool) -> None:
        """``settings`` are a client's by Java's names: who this broker is, and whom it trusts."""
        self._own = own
        self._settings = settings
        self._by_tls = tls
        self._requests: HttpRequests | None = None

    async def ask(self, broker: BrokerAddress, request: Request) -> Reply:
        """What a broker answers to a request. Raises NotReady where it does not answer."""
        base = broker.web_url_tls if self._by_tls else broker.web_url
        if not base:
            kind = "with" if self._by_tls else "without"
            raise NotReady(
                f"The broker {broker.name} has no admin API {kind} TLS: set brokerClientTlsEnabled "
                "as its ports are"
            )
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

    def _opened(self) -> "HttpRequests":
        from magnetar.client.authentication.plugins import authentication_of  # noqa: PLC0415
        from magnetar.client.config import ClientConfig  # noqa: PLC0415 - as above
        from magnetar.client.connections.credentials import Credentials  # noqa: PLC0415
        from magnetar.client.connections.http_request import HttpRequests  # noqa: PLC0415
        from magnetar.client.connections.tls import Tls  # noqa: PLC0415

        said = self._settings
        plugin = said.get("authPluginClassName")
        config = ClientConfig(
            service_url="pulsar+ssl://localhost",  # Not connected to: settings are of use here.
            authentication=authentication_of(plugin, said["authParams"]) if plugin else None,
            tls_trust_certs_file=said.get("tlsTrustCertsFilePath"),
            tls_certificate_file=said.get("tlsCertificateFilePath"),
            tls_key_file=said.get("tlsKeyFilePath"),
        )
        return HttpRequests(
            Credentials(config.authentication),
            Tls(config) if self._by_tls else None,
            timeout_s=ANSWER_TIMEOUT_S,
            connection_timeout_s=CONNECT_TIMEOUT_S,
            redirects=0,
            answer_bytes=ANSWER_SIZE_MAX,
        )
