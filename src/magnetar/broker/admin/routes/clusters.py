"""Clusters: where each is reached."""

from typing import Any, Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Route
from magnetar.broker.resources import Resources
from magnetar.errors import NotFound
from magnetar.model.records import ClusterData

_TEXTS: Final = (
    "serviceUrl",
    "serviceUrlTls",
    "brokerServiceUrl",
    "brokerServiceUrlTls",
    "proxyServiceUrl",
    "proxyProtocol",
    "authenticationPlugin",
    "authenticationParameters",
    "brokerClientTrustCertsFilePath",
    "listenerName",
)
_FLAGS: Final = ("brokerClientTlsEnabled", "tlsAllowInsecureConnection")
_SCHEMES: Final = {
    "serviceUrl": ("http://", "service url, example: http://pulsar.example.com:8080"),
    "serviceUrlTls": ("https://", "service tls url, example: https://pulsar.example.com:8443"),
    "brokerServiceUrl": (
        "pulsar://",
        "broker service url, example: pulsar://pulsar.example.com:6650",
    ),
    "brokerServiceUrlTls": (
        "pulsar+ssl://",
        "broker service tls url, example: pulsar+ssl://pulsar.example.com:6651",
    ),
}


class Clusters:
    """``/clusters``."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources

    def routes(self) -> list[Route]:
        one = "/admin/v2/clusters/{cluster}"
        return [
            Route("GET", "/admin/v2/clusters", self.names),
            Route("GET", one, self.get),
            Route("PUT", one, self.create, takes=(JSON,)),
            Route("POST", one, self.update, takes=(JSON,)),
            Route("DELETE", one, self.delete),
        ]

    async def names(self, request: Request) -> Reply:
        return shown(await self._resources.clusters())

    async def get(self, request: Request) -> Reply:
        data = await self._resources.cluster(_name(request))
        if data is None:
            raise NotFound("Cluster does not exist")
        return shown(data.shown())

    async def create(self, request: Request) -> Reply:
        name = _name(request)
        await self._resources.create_cluster(name, _cluster_data(request))
        return Reply(200)

    async def update(self, request: Request) -> Reply:
        name, data = _name(request), _cluster_data(request)
        await self._resources.update_cluster(name, lambda _: data)
        return Reply(200)

    async def delete(self, request: Request) -> Reply:
        await self._resources.delete_cluster(_name(request))
        return done()


def _name(request: Request) -> str:
    return arguments.entity(request, "cluster", "Cluster")


def _cluster_data(request: Request) -> ClusterData:
    sent = arguments.json_object(request)
    if sent is None:
        raise Rejection(400, "cluster data is required")
    fields: dict[str, Any] = {}
    for names, kind in ((_TEXTS, str), (_FLAGS, bool)):
        for name in names:
            value = sent.get(name)
            if value is not None and not isinstance(value, kind):
                raise Rejection(
                    400, f"{name} is a JSON {type(value).__name__}, not a {kind.__name__}"
                )
            fields[name] = value
    peers = arguments.string_list(sent.get("peerClusterNames"), "peerClusterNames")
    for name, (scheme, words) in _SCHEMES.items():
        if fields[name] and not fields[name].startswith(scheme):
            raise Rejection(400, f"Illegal {words}")
    return ClusterData.from_json({**fields, "peerClusterNames": peers})
