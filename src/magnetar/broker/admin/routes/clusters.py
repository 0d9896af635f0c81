"""Clusters: where each is reached."""

from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import NotFound
from magnetar.model import jackson
from magnetar.model.records import ClusterData
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route

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
    "brokerClientCertificateFilePath",
    "brokerClientKeyFilePath",
    "brokerClientTlsTrustStoreType",
    "brokerClientTlsTrustStore",
    "brokerClientTlsTrustStorePassword",
    "brokerClientTlsKeyStoreType",
    "brokerClientTlsKeyStore",
    "brokerClientTlsKeyStorePassword",
    "brokerClientSslFactoryPlugin",
    "brokerClientSslFactoryPluginParams",
    "listenerName",
)
_FLAGS: Final = (
    "brokerClientTlsEnabled",
    "tlsAllowInsecureConnection",
    "brokerClientTlsEnabledWithKeyStore",
)
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


async def names(admin: AdminServices, _: Request) -> Reply:
    return shown(await admin.resources.clusters())


async def get(admin: AdminServices, request: Request) -> Reply:
    data = await admin.resources.cluster(cluster_name(request))
    if data is None:
        raise NotFound("Cluster does not exist")
    return shown(data.shown())


async def create(admin: AdminServices, request: Request) -> Reply:
    name = cluster_name(request)
    await admin.resources.create_cluster(name, cluster_data(request))
    return Reply(200)


async def update(admin: AdminServices, request: Request) -> Reply:
    name, data = cluster_name(request), cluster_data(request)
    await admin.resources.update_cluster(name, lambda _: data)
    return Reply(200)


async def delete(admin: AdminServices, request: Request) -> Reply:
    await admin.resources.delete_cluster(cluster_name(request))
    return done()


def cluster_name(request: Request) -> str:
    return arguments.entity(request, "cluster", "Cluster")


def cluster_data(request: Request) -> ClusterData:
    sent = arguments.json_object(request)
    if sent is None:
        raise Rejection(400, "cluster data is required")
    fields: dict[str, Any] = {}
    for name in _TEXTS:
        fields[name] = arguments.read(jackson.text, sent.get(name), name)
    for name in _FLAGS:
        fields[name] = arguments.read(jackson.truth, sent.get(name), name)
    peers = arguments.string_list(sent.get("peerClusterNames"), "peerClusterNames")
    for name, (scheme, words) in _SCHEMES.items():
        if fields[name] and not fields[name].startswith(scheme):
            raise Rejection(400, f"Illegal {words}")
    return ClusterData.from_json({**fields, "peerClusterNames": peers})


_ONE = "/admin/v2/clusters/{cluster}"
ROUTES: Final = (
    Route("GET", "/admin/v2/clusters", names, access=Access.AUTHENTICATED),
    Route("GET", _ONE, get),
    Route("PUT", _ONE, create, takes=(JSON,)),
    Route("POST", _ONE, update, takes=(JSON,)),
    Route("DELETE", _ONE, delete),
)
