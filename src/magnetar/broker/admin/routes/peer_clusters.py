"""Which clusters stand in for a cluster, and whether it has moved."""

from dataclasses import replace
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.clusters import cluster_data, cluster_name
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import NotFound
from magnetar.model.records import ClusterData
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads
from magnetar.storage.metadata import paths

_PEERS: Final = "peerClusterNames"
_MISSING: Final = "Cluster does not exist"


async def get(admin: AdminServices, request: Request) -> Reply:
    data = await _cluster(admin, request)
    found = data.fields.get(_PEERS)
    return Reply(200) if found is None else shown(found)


async def change(admin: AdminServices, request: Request) -> Reply:
    peers = arguments.string_list(arguments.body(request), "peer clusters") or []
    name = cluster_name(request)
    await _cluster(admin, request)
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


async def migration(admin: AdminServices, request: Request) -> Reply:
    found = await admin.resources.objects.get(paths.cluster_policies(cluster_name(request)))
    if found is None:
        raise NotFound(_MISSING)
    return shown(found)


@reads(Query("migrated", "boolean"))
async def migrate(admin: AdminServices, request: Request) -> Reply:
    """Note where a cluster has moved to. Clients are not told."""
    moved = request.flag("migrated")
    await _cluster(admin, request)
    url = cluster_data(request).fields
    await admin.resources.objects.put(
        paths.cluster_policies(cluster_name(request)),
        migrated=moved,
        migratedClusterUrl={**url, "empty": not url},
    )
    return done(("migrate",) if moved else (), status=200)


async def _cluster(admin: AdminServices, request: Request) -> ClusterData:
    data = await admin.resources.cluster(cluster_name(request))
    if data is None:
        raise NotFound(_MISSING)
    return data


_ONE = "/admin/v2/clusters/{cluster}"
ROUTES: Final = (
    Route("GET", f"{_ONE}/peers", get, access=Access.SUPERUSER),
    Route("POST", f"{_ONE}/peers", change, takes=(JSON,), access=Access.SUPERUSER),
    Route("GET", f"{_ONE}/migrate", migration, access=Access.SUPERUSER),
    Route("POST", f"{_ONE}/migrate", migrate, takes=(JSON,), access=Access.SUPERUSER),
)
