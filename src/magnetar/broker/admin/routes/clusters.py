"""Clusters: where each is reached, which stand in for it, and its brokers that fail together.

The peers, the move and the failure domains of a cluster are kept, and nothing more.
"""

from dataclasses import replace
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import NotFound
from magnetar.model import jackson
from magnetar.model.records import ClusterData, Json
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads
from magnetar.storage.metadata import paths

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
_PEERS: Final = "peerClusterNames"
_MISSING: Final = "Cluster does not exist"


async def names(admin: RecordServices, _: Request) -> Reply:
    return shown(await admin.resources.clusters())


async def get(admin: RecordServices, request: Request) -> Reply:
    return shown((await _existing(admin, request)).shown())


async def create(admin: RecordServices, request: Request) -> Reply:
    name = cluster_name(request)
    await admin.resources.create_cluster(name, cluster_data(request))
    return Reply(200)


async def update(admin: RecordServices, request: Request) -> Reply:
    name, data = cluster_name(request), cluster_data(request)
    await admin.resources.update_cluster(name, lambda _: data)
    return Reply(200)


async def delete(admin: RecordServices, request: Request) -> Reply:
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


async def peers(admin: RecordServices, request: Request) -> Reply:
    data = await _existing(admin, request)
    found = data.fields.get(_PEERS)
    return Reply(200) if found is None else shown(found)


async def set_peers(admin: RecordServices, request: Request) -> Reply:
    peers = arguments.string_list(arguments.body(request), "peer clusters") or []
    name = cluster_name(request)
    await _existing(admin, request)
    known = await admin.resources.clusters()
    for peer in peers:
        if peer == name:
            raise Rejection(412, f"{name} itself can't be part of peer-list")
        if peer not in known:
            raise Rejection(412, f"Peer cluster {peer} does not exist")

    def changed(stored: ClusterData) -> ClusterData:
        return replace(stored, fields={**stored.fields, _PEERS: peers})

    await admin.resources.update_cluster(name, changed)
    return done(("peers",) if peers else ())


async def migration(admin: RecordServices, request: Request) -> Reply:
    found = await admin.resources.objects.get(paths.cluster_policies(cluster_name(request)))
    if found is None:
        raise NotFound(_MISSING)
    return shown(found)


@reads(Query("migrated", "boolean"))
async def migrate(admin: RecordServices, request: Request) -> Reply:
    """Note where a cluster has moved to. Clients are not told."""
    moved = request.flag("migrated")
    await _existing(admin, request)
    url = cluster_data(request).fields
    await admin.resources.objects.put(
        paths.cluster_policies(cluster_name(request)),
        migrated=moved,
        migratedClusterUrl={**url, "empty": not url},
    )
    return done(("migrate",) if moved else (), status=200)


async def _existing(admin: RecordServices, request: Request) -> ClusterData:
    data = await admin.resources.cluster(cluster_name(request))
    if data is None:
        raise NotFound(_MISSING)
    return data


async def domains(admin: RecordServices, request: Request) -> Reply:
    return shown(await _domains(admin, request))


async def domain(admin: RecordServices, request: Request) -> Reply:
    name = _domain_name(request)
    found = (await _domains(admin, request)).get(name)
    if found is None:
        raise NotFound(f"Domain {name} for cluster {cluster_name(request)} does not exist")
    return shown(found)


async def set_domain(admin: RecordServices, request: Request) -> Reply:
    name, cluster = _domain_name(request), cluster_name(request)
    sent = arguments.json_object(request) or {}
    brokers = sorted(set(arguments.string_list(sent.get("brokers"), "brokers") or ()))
    if await admin.resources.cluster(cluster) is None:
        raise Rejection(412, f"Cluster {cluster} does not exist.")

    def changed(stored: Json) -> Json:
        for other, domain in stored.items():
            both = [broker for broker in brokers if broker in domain.get("brokers", ())]
            if other != name and both:
                raise Rejection(409, f"[{', '.join(both)}] already exists in {other}")
        return {**stored, name: {"brokers": brokers}}

    await admin.resources.objects.change(paths.failure_domains(cluster), changed)
    return done(("failureDomains",))


async def delete_domain(admin: RecordServices, request: Request) -> Reply:
    name, cluster = _domain_name(request), cluster_name(request)
    if name not in await _domains(admin, request):
        raise NotFound(f"Domain-name {name} or cluster {cluster} does not exist")
    await admin.resources.objects.put(paths.failure_domains(cluster), **{name: None})
    return Reply(200)


async def _domains(admin: RecordServices, request: Request) -> Json:
    return await admin.resources.objects.get(paths.failure_domains(cluster_name(request))) or {}


def _domain_name(request: Request) -> str:
    return arguments.entity(request, "domain", "Failure domain")


_ONE = "/admin/v2/clusters/{cluster}"
_DOMAINS = f"{_ONE}/failureDomains"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", "/admin/v2/clusters", names, Access.AUTHENTICATED),
    Route("GET", _ONE, get),
    Route("PUT", _ONE, create, takes=(JSON,)),
    Route("POST", _ONE, update, takes=(JSON,)),
    Route("DELETE", _ONE, delete),
    Route("GET", f"{_ONE}/peers", peers, Access.SUPERUSER),
    Route("POST", f"{_ONE}/peers", set_peers, Access.SUPERUSER, takes=(JSON,)),
    Route("GET", f"{_ONE}/migrate", migration, Access.SUPERUSER),
    Route("POST", f"{_ONE}/migrate", migrate, Access.SUPERUSER, takes=(JSON,)),
    Route("GET", _DOMAINS, domains, Access.SUPERUSER),
    Route("GET", f"{_DOMAINS}/{{domain}}", domain, Access.SUPERUSER),
    Route("POST", f"{_DOMAINS}/{{domain}}", set_domain, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", f"{_DOMAINS}/{{domain}}", delete_domain, Access.SUPERUSER),
)
