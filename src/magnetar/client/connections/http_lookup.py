"""Lookup over HTTP, for service URLs of http:// and https://: what brokers answer about topics."""

import base64
import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from magnetar.client.config import ClientConfig
from magnetar.client.web_answer import whole
from magnetar.errors import (
    ConnectionLost,
    InvalidSchema,
    MagnetarError,
    NotAllowed,
    NotAuthenticated,
    NotAuthorized,
    NotReady,
    SchemaNotFound,
    TopicNotFound,
)
from magnetar.model.names import TopicName
from magnetar.model.schemas import SchemaInfo, SchemaType
from magnetar.model.subscriptions import RegexSubscriptionMode

from .cluster import Cluster
from .credentials import Credentials
from .tls import trouble
from .transport import REFUSED

ANSWER_SIZE_MAX: Final = 64 << 20  # The names of a namespace's topics may be many.
# How the credentials of a method go into a header; certificates need none.
_SCHEMES: Final = {"token": "Bearer ", "basic": "Basic "}
_MODES: Final = {
    RegexSubscriptionMode.PERSISTENT_ONLY: "PERSISTENT",
    RegexSubscriptionMode.NON_PERSISTENT_ONLY: "NON_PERSISTENT",
    RegexSubscriptionMode.ALL_TOPICS: "ALL",
}
_ERRORS: Final[Mapping[int, type[MagnetarError]]] = {
    403: NotAuthorized,
    404: TopicNotFound,
}


class HttpLookup:
    """Asks one address of a cluster, in one attempt. Every method raises ConnectionLost for an
    address that does not answer, and the broker's error.
    """

    def __init__(self, config: ClientConfig, cluster: Cluster) -> None:
        self._config = config
        self._cluster = cluster

    async def owner(self, address: str, topic: str) -> str:
        """The service URL of the broker that owns ``topic``; "" when it has none of our kind."""
        listener = self._config.listener_name
        found = await self._get(
            address,
            f"/lookup/v2/topic/{_path(topic)}",
            {} if listener is None else {"listenerName": listener},
        )
        # Brokers spell the key for TLS in both ways.
        keys = ("brokerUrlTls", "brokerUrlSsl") if self._cluster.url.tls else ("brokerUrl",)
        urls = [found.get(key) for key in keys] if isinstance(found, dict) else []
        return next((url for url in urls if isinstance(url, str) and url), "")

    async def partitions(self, address: str, topic: str, *, auto_create: bool) -> int:
        found = await self._get(
            address,
            f"/admin/v2/{_path(topic)}/partitions",
            {"checkAllowAutoCreation": str(auto_create).lower()},
        )
        return int(found["partitions"]) if isinstance(found, dict) else 0

    async def topics(self, address: str, namespace: str, mode: RegexSubscriptionMode) -> list[str]:
        path = f"/admin/v2/namespaces/{namespace}/topics"
        found = await self._get(address, path, {"mode": _MODES[mode]})
        return [str(name) for name in found] if isinstance(found, list) else []

    async def schema(self, address: str, topic: str, version: bytes | None) -> SchemaInfo:
        name = TopicName.parse(topic)
        path = f"/admin/v2/schemas/{name.namespace}/{quote(name.local, safe='')}/schema"
        if version is not None:
            path += f"/{int.from_bytes(version, 'big')}"
        try:
            found = await self._get(address, path, {})
        except TopicNotFound as error:
            raise SchemaNotFound(str(error)) from None
        if not isinstance(found, dict) or found.get("type") not in SchemaType.__members__:
            raise InvalidSchema(f"{address} answered with no schema of {topic} that is known here")
        if found["type"] == SchemaType.KEY_VALUE.name:
            raise NotAllowed(f"the schema of {topic} is one of keys and values: use pulsar://")
        data, properties = str(found.get("data", "")), dict(found.get("properties") or {})
        return SchemaInfo(SchemaType[found["type"]], data.encode(), properties)

    async def _get(self, address: str, path: str, query: Mapping[str, str]) -> object:
        import aiohttp  # noqa: PLC0415 - who looks up over the binary protocol does not pay for it.

        scheme = self._cluster.url.scheme
        url = f"{scheme}://{address}{path}"
        tls = self._cluster.tls
        context = True if tls is None else tls.context()
        credentials = self._cluster.credentials
        headers = credential_headers(credentials, await credentials.data())
        timeout = aiohttp.ClientTimeout(
            total=self._config.operation_timeout_s, sock_connect=self._config.connection_timeout_s
        )
        try:
            async with aiohttp.ClientSession(timeout=timeout, headers=headers) as web:
                for _ in range(self._config.lookup_redirects_max + 1):
                    async with web.get(
                        url, params=query, ssl=context, allow_redirects=False
                    ) as answer:
                        body = await whole(answer.content, ANSWER_SIZE_MAX)
                        status, location = answer.status, answer.headers.get("Location", "")
                    if status not in {302, 307}:
                        break
                    # The broker's answer has the query in it; the owner is asked as we were told.
                    url, query = urljoin(url, location), {}
                    if urlsplit(url).scheme != scheme:
                        raise NotAllowed(f"{address} sends us on to {url}, which is not {scheme}")
        except (aiohttp.ClientError, OSError) as error:
            raise self._unreachable(address, error) from error
        return self._read(address, status, body)

    def _unreachable(self, address: str, error: Exception) -> ConnectionLost:
        cause = getattr(error, "os_error", None) or getattr(error, "certificate_error", error)
        why = str(cause) or type(cause).__name__
        if isinstance(cause, ConnectionRefusedError):
            why = REFUSED
        elif isinstance(cause, OSError) and self._cluster.tls is not None:
            why = trouble(cause)
        return ConnectionLost(f"cannot ask {address} over {self._cluster.url.scheme}: {why}")

    def _read(self, address: str, status: int, body: bytes) -> object:
        try:
            answer: object = json.loads(body)
        except ValueError:
            answer = None
        if status == 200 and answer is not None:
            return answer
        reason = answer.get("reason") if isinstance(answer, dict) else None
        why = str(reason or f"{address} answered with status {status} and {body[:100]!r}")
        if status == 401:
            raise self._cluster.credentials.refusal(address, NotAuthenticated(why))
        if status in _ERRORS:
            raise _ERRORS[status](why)
        if status == 200 or status >= 500 or status in {302, 307}:
            raise NotReady(why)
        raise NotAllowed(why)


def _path(topic: str) -> str:
    name = TopicName.parse(topic)
    return f"{name.domain}/{name.tenant}/{name.namespace_local}/{quote(name.local, safe='')}"


def credential_headers(credentials: Credentials, data: bytes | None) -> dict[str, str]:
    """What shows credentials in HTTP. Raises NotAllowed for a method that has no form there."""
    if data is None:
        return {}
    method, headers = credentials.http_method, {}
    if method == credentials.method:  # A broker that is told no name finds out by the form.
        headers["X-Pulsar-Auth-Method-Name"] = method
    if method in _SCHEMES:
        shown = base64.b64encode(data) if method == "basic" else data
        headers["Authorization"] = _SCHEMES[method] + shown.decode()
    elif method != "tls":
        raise NotAllowed(f"authentication method {method!r} has no form in HTTP: use pulsar://")
    return headers
