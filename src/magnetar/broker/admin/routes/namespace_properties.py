"""What administrators note about a namespace, and whether it has moved to another cluster."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_plus

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import RecordServices
from magnetar.model.policies import Policies
from magnetar.rest import arguments
from magnetar.rest.exchange import JSON, Reply, Request, done, shown, text
from magnetar.rest.router import Route


async def get(admin: RecordServices, request: Request) -> Reply:
    return shown(await _properties(admin, request))


async def merge(admin: RecordServices, request: Request) -> Reply:
    sent = arguments.string_map(arguments.json_object(request), "properties") or {}
    await _change(admin, request, sent)
    return done()


async def clear(admin: RecordServices, request: Request) -> Reply:
    await admin.policies.change(arguments.namespace(request), properties=None)
    return done()


async def get_one(admin: RecordServices, request: Request) -> Reply:
    return _shown((await _properties(admin, request)).get(_segment(request, "key")))


async def set_one(admin: RecordServices, request: Request) -> Reply:
    await _change(admin, request, {_segment(request, "key"): _segment(request, "value")})
    return done()


async def remove_one(admin: RecordServices, request: Request) -> Reply:
    """Answer with the value that was removed."""
    key = _segment(request, "key")
    before = (await _properties(admin, request)).get(key)
    await _change(admin, request, {key: None})
    return _shown(before)


async def migrate(admin: RecordServices, request: Request) -> Reply:
    moved = arguments.boolean(request)
    await admin.policies.change(arguments.namespace(request), migrated=moved or None)
    return done(("migration",) if moved else ())


async def _properties(admin: RecordServices, request: Request) -> dict[str, str]:
    return dict((await existing(admin.resources, request)).policies.properties or {})


async def _change(
    admin: RecordServices, request: Request, changed: Mapping[str, str | None]
) -> None:
    def revised(policies: Policies) -> dict[str, Any]:
        merged = {**(policies.properties or {}), **changed}
        return {"properties": {k: v for k, v in merged.items() if v is not None} or None}

    await admin.policies.revise(arguments.namespace(request), revised)


def _segment(request: Request, name: str) -> str:
    return unquote_plus(request.segments[name])


def _shown(value: str | None) -> Reply:
    return Reply(200) if value is None else text(value)


_ONE = "/admin/v2/namespaces/{tenant}/{namespace}"
_ALL_AT, _ONE_AT = f"{_ONE}/properties", f"{_ONE}/property/{{key}}"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", _ALL_AT, get, Access.TENANT_ADMIN),
    Route("PUT", _ALL_AT, merge, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("DELETE", _ALL_AT, clear, Access.TENANT_ADMIN),
    Route("GET", _ONE_AT, get_one, Access.TENANT_ADMIN),
    Route("PUT", f"{_ONE_AT}/{{value}}", set_one, Access.TENANT_ADMIN),
    Route("DELETE", _ONE_AT, remove_one, Access.TENANT_ADMIN),
    Route("POST", f"{_ONE}/migration", migrate, Access.SUPERUSER, takes=(JSON,)),
)
