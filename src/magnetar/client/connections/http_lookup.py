"""Lookup over HTTP, for service URLs of http:// and https://: what brokers answer about topics."""

import json
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, urlencode

from magnetar.client.config import ClientConfig
from magnetar.errors import (
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
from .http_request import HttpRequests

ANSWER_SIZE_MAX: Final = 64 << 20  # The names of a namespace's topics may be many.
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
        requests = HttpRequests(
            self._cluster.credentials,
            self._cluster.tls,
            timeout_s=self._config.operation_timeout_s,
            connection_timeout_s=self._config.connection_timeout_s,
            redirects=self._config.lookup_redirects_max,
            answer_bytes=ANSWER_SIZE_MAX,
        )
        base = f"{self._cluster.url.scheme}://{address}"
        answer = await requests.ask([base], f"{path}?{urlencode(query)}" if query else path)
        return self._read(address, answer.status, answer.body)

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
