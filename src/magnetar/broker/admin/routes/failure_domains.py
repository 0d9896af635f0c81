"""The failure domains of a cluster: brokers that fail together. They are kept, and nothing more."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.clusters import cluster_name
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import NotFound
from magnetar.model.records import Json
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route
from magnetar.storage.metadata import paths


async def names(admin: AdminServices, request: Request) -> Reply:
    return shown(await _domains(admin, request))


async def get(admin: AdminServices, request: Request) -> Reply:
    name = _name(request)
    found = (await _domains(admin, request)).get(name)
    if found is None:
        raise NotFound(f"Domain {name} for cluster {cluster_name(request)} does not exist")
    return shown(found)


async def change(admin: AdminServices, request: Request) -> Reply:
    name, cluster = _name(request), cluster_name(request)
    sent = arguments.json_object(request) or {}
    brokers = sorted(set(arguments.string_list(sent.get("brokers"), "brokers") or ()))
    if await admin.resources.cluster(cluster) is None:
        raise Rejection(412, f"Cluster {cluster} does not exist.")

    def changed(stored: Json) -> Json:
        for other, domain in stored.items():
            both = [broker for broker in brokers if broker in domain["brokers"]]
            if other != name and both:
                raise Rejection(409, f"[{', '.join(both)}] already exists in {other}")
        return {**stored, name: {"brokers": brokers}}

    await admin.resources.objects.change(paths.failure_domains(cluster), changed)
    return done(("failureDomains",))


async def delete(admin: AdminServices, request: Request) -> Reply:
    name, cluster = _name(request), cluster_name(request)
    if name not in await _domains(admin, request):
        raise NotFound(f"Domain-name {name} or cluster {cluster} does not exist")
    await admin.resources.objects.put(paths.failure_domains(cluster), **{name: None})
    return Reply(200)


async def _domains(admin: AdminServices, request: Request) -> Json:
    return await admin.resources.objects.get(paths.failure_domains(cluster_name(request))) or {}


def _name(request: Request) -> str:
    return arguments.entity(request, "domain", "Failure domain")


_ALL = "/admin/v2/clusters/{cluster}/failureDomains"
ROUTES: Final = (
    Route("GET", _ALL, names, access=Access.SUPERUSER),
    Route("GET", f"{_ALL}/{{domain}}", get, access=Access.SUPERUSER),
    Route("POST", f"{_ALL}/{{domain}}", change, takes=(JSON,), access=Access.SUPERUSER),
    Route("DELETE", f"{_ALL}/{{domain}}", delete, access=Access.SUPERUSER),
)
