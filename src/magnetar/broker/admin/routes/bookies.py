"""Bookies and their racks; a broker that is alone has none, and keeps racks all the same."""

from typing import Final
from urllib.parse import unquote

from magnetar.auth.access import Access
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import NotFound
from magnetar.model import jackson
from magnetar.model.cluster_stores import Presence
from magnetar.model.records import Json
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads
from magnetar.storage.metadata import paths

_TEXTS: Final = ("rack", "hostname")


async def names(admin: RecordServices, _request: Request) -> Reply:
    bookies = [] if admin.health.cluster is None else admin.health.cluster.bookies()
    there = [each.bookie_id for each in bookies if each.presence is not Presence.AWAY]
    return shown({"bookies": [{"bookieId": each} for each in there]})


async def racks(admin: RecordServices, _: Request) -> Reply:
    return shown(await _stored(admin))


async def get(admin: RecordServices, request: Request) -> Reply:
    bookie = _bookie(request)
    for group in (await _stored(admin)).values():
        if bookie in group:
            return shown(group[bookie])
    raise _missing(bookie)


@reads(Query("group"))
async def change(admin: RecordServices, request: Request) -> Reply:
    bookie, group = _bookie(request), request.query.get("group")
    sent = arguments.json_object(request) or {}
    if not group:
        raise Rejection(412, "Bookie 'group' parameters is missing")
    texts = {key: arguments.read(jackson.text, sent.get(key), key) for key in _TEXTS}
    info = {key: each for key, each in texts.items() if each is not None}

    def changed(stored: Json) -> Json:
        rest = _without(stored, bookie)
        return {**rest, group: {**rest.get(group, {}), bookie: info}}

    await admin.resources.objects.change(paths.BOOKIES, changed)
    return done(("racks-info",) if admin.health.cluster is None else ())


async def delete(admin: RecordServices, request: Request) -> Reply:
    bookie = _bookie(request)
    if not any(bookie in group for group in (await _stored(admin)).values()):
        raise _missing(bookie)
    await admin.resources.objects.change(paths.BOOKIES, lambda stored: _without(stored, bookie))
    return done()


def _bookie(request: Request) -> str:
    return unquote(request.segments["bookie"])


async def _stored(admin: RecordServices) -> Json:
    return await admin.resources.objects.get(paths.BOOKIES) or {}


def _without(stored: Json, bookie: str) -> Json:
    rest = {
        group: {name: info for name, info in bookies.items() if name != bookie}
        for group, bookies in stored.items()
    }
    return {group: bookies for group, bookies in rest.items() if bookies}


def _missing(bookie: str) -> NotFound:
    return NotFound(f"Bookie rack placement configuration not found: {bookie}")


_RACKS = "/admin/v2/bookies/racks-info"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", "/admin/v2/bookies/all", names, Access.SUPERUSER),
    Route("GET", _RACKS, racks, Access.SUPERUSER),
    Route("GET", f"{_RACKS}/{{bookie}}", get, Access.SUPERUSER),
    Route("POST", f"{_RACKS}/{{bookie}}", change, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", f"{_RACKS}/{{bookie}}", delete, Access.SUPERUSER),
)
