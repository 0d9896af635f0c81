"""What a cluster alone knows of a namespace: its anti-affinity group, and the bookies it prefers.

By the group the brokers of a cluster share namespaces out. The bookies are those of the ledgers
that its topics begin from then on.
"""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import NamespaceNotFound
from magnetar.model import jackson
from magnetar.model.names import NamespaceName
from magnetar.model.records import Json
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown, text
from magnetar.rest.router import Route
from magnetar.storage.metadata import paths

GROUP: Final = "namespaceAntiAffinityGroup"
_BOOKIES: Final = "bookieAffinityGroup"
_BOOKIE_GROUPS: Final = ("bookkeeperAffinityGroupPrimary", "bookkeeperAffinityGroupSecondary")


async def group(admin: RecordServices, request: Request) -> Reply:
    found = (await _policies(admin, request) or {}).get(GROUP)
    return done() if found is None else text(found)


async def set_group(admin: RecordServices, request: Request) -> Reply:
    """Take the name as JSON, and as it is."""
    sent = request.body.decode(errors="replace").strip()
    name = arguments.body(request) if sent.startswith('"') else sent
    where = await _existing(admin, request)
    await admin.resources.objects.put(paths.local_policies(where), **{GROUP: name})
    return done(("antiAffinity",) if name and admin.health.load_report is None else ())


async def remove_group(admin: RecordServices, request: Request) -> Reply:
    where = await _existing(admin, request)
    await admin.resources.objects.put(paths.local_policies(where), **{GROUP: None})
    return done()


async def namespaces_of_group(admin: RecordServices, request: Request) -> Reply:
    """The namespaces of a tenant that are in a group."""
    asked = arguments.entity(request, "group", "Anti-affinity group")
    if await admin.resources.cluster(arguments.entity(request, "cluster", "Cluster")) is None:
        raise Rejection(412, "Cluster does not exist")
    found = []
    for name in await admin.resources.namespaces(request.query.get("tenant", "")):
        policies = await admin.resources.objects.get(paths.local_policies(name))
        if (policies or {}).get(GROUP) == asked:
            found.append(str(name))
    return shown(found)


async def bookies(admin: RecordServices, request: Request) -> Reply:
    await _existing(admin, request)
    policies = await _policies(admin, request)
    if policies is None:
        raise NamespaceNotFound("Namespace local-policies does not exist")
    found = policies.get(_BOOKIES)
    return done() if found is None else shown(found)


async def set_bookies(admin: RecordServices, request: Request) -> Reply:
    sent = arguments.json_object(request) or {}
    texts = {key: arguments.read(jackson.text, sent.get(key), key) for key in _BOOKIE_GROUPS}
    groups = {key: each for key, each in texts.items() if each is not None}
    where = await _existing(admin, request)
    await admin.resources.objects.put(paths.local_policies(where), **{_BOOKIES: groups})
    return done(("bookieAffinity",) if groups and admin.health.cluster is None else ())


async def remove_bookies(admin: RecordServices, request: Request) -> Reply:
    where = await _existing(admin, request)
    await admin.resources.objects.put(paths.local_policies(where), **{_BOOKIES: None})
    return done()


async def _policies(admin: RecordServices, request: Request) -> Json | None:
    where = paths.local_policies(arguments.namespace(request))
    return await admin.resources.objects.get(where)


async def _existing(admin: RecordServices, request: Request) -> NamespaceName:
    where = arguments.namespace(request)
    await admin.resources.require_namespace(where)
    return where


_ONE = "/admin/v2/namespaces/{tenant}/{namespace}"
_GROUP_AT = f"{_ONE}/antiAffinity"
_BOOKIES_AT = f"{_ONE}/persistence/bookieAffinity"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", _GROUP_AT, group, Access.TENANT_ADMIN),
    Route("POST", _GROUP_AT, set_group, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("DELETE", _GROUP_AT, remove_group, Access.TENANT_ADMIN),
    Route(
        "GET",
        "/admin/v2/namespaces/{cluster}/antiAffinity/{group}",
        namespaces_of_group,
        Access.SUPERUSER,
    ),
    Route("GET", _BOOKIES_AT, bookies, Access.SUPERUSER),
    Route("POST", _BOOKIES_AT, set_bookies, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", _BOOKIES_AT, remove_bookies, Access.SUPERUSER),
)
