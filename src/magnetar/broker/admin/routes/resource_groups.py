"""Resource groups, and the one that a namespace is in."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import RecordServices
from magnetar.broker.resource_groups import NO_GROUP
from magnetar.errors import InvalidValue
from magnetar.model.policy_values import ResourceGroup
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route


async def names(admin: RecordServices, _: Request) -> Reply:
    return shown(await admin.resource_groups.names())


async def get(admin: RecordServices, request: Request) -> Reply:
    return shown((await admin.resource_groups.require(_name(request))).to_json())


async def put(admin: RecordServices, request: Request) -> Reply:
    name, sent = _name(request), arguments.json_object(request)
    if sent is None:
        raise Rejection(412, "ResourceGroup is null")
    try:
        group = ResourceGroup.from_json(sent)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    await admin.resource_groups.put(name, group)
    return done()


async def delete(admin: RecordServices, request: Request) -> Reply:
    await admin.resource_groups.delete(_name(request))
    return done()


async def of_namespace(admin: RecordServices, request: Request) -> Reply:
    name = (await existing(admin.resources, request)).policies.resource_group
    return Reply(200) if name is None else shown(name)


async def join(admin: RecordServices, request: Request) -> Reply:
    name = _name(request)
    await existing(admin.resources, request)
    if await admin.resource_groups.get(name) is None:
        raise Rejection(412, NO_GROUP)
    await admin.policies.change(arguments.namespace(request), resource_group=name)
    return done()


async def leave(admin: RecordServices, request: Request) -> Reply:
    await existing(admin.resources, request)
    await admin.policies.change(arguments.namespace(request), resource_group=None)
    return done()


def _name(request: Request) -> str:
    return arguments.entity(request, "resourcegroup", "ResourceGroup")


_ALL = "/admin/v2/resourcegroups"
_OF_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}/resourcegroup"


SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", _ALL, names, Access.SUPERUSER),
    Route("GET", f"{_ALL}/{{resourcegroup}}", get, Access.SUPERUSER),
    Route("PUT", f"{_ALL}/{{resourcegroup}}", put, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", f"{_ALL}/{{resourcegroup}}", delete, Access.SUPERUSER),
    Route("GET", _OF_NAMESPACE, of_namespace, Access.TENANT_ADMIN),
    Route("POST", f"{_OF_NAMESPACE}/{{resourcegroup}}", join, Access.TENANT_ADMIN),
    Route("DELETE", _OF_NAMESPACE, leave, Access.TENANT_ADMIN),
)
