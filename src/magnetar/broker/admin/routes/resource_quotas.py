"""What a bundle is expected to need, for a load balancer that this broker does not have."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import NamespaceNotFound
from magnetar.model import jackson
from magnetar.model.records import Json
from magnetar.rest import arguments
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route
from magnetar.storage.metadata import paths

_DEFAULT: Final[Json] = {
    "msgRateIn": 40.0,
    "msgRateOut": 120.0,
    "bandwidthIn": 100_000.0,
    "bandwidthOut": 300_000.0,
    "memory": 80.0,
    "dynamic": True,
}
_DYNAMIC: Final = "dynamic"
_NUMBERS: Final = tuple(key for key in _DEFAULT if key != _DYNAMIC)
_KEY: Final = "default"


async def get_default(admin: RecordServices, _: Request) -> Reply:
    return shown(await _default(admin))


async def set_default(admin: RecordServices, request: Request) -> Reply:
    await admin.resources.objects.put(paths.RESOURCE_QUOTAS, **{_KEY: _quota(request)})
    return done(("resource-quotas",))


async def get(admin: RecordServices, request: Request) -> Reply:
    own = (await _stored(admin)).get(await _bundle(admin, request))
    return shown(own or await _default(admin))


async def change(admin: RecordServices, request: Request) -> Reply:
    bundle, quota = await _bundle(admin, request), _quota(request)
    await admin.resources.objects.put(paths.RESOURCE_QUOTAS, **{bundle: quota})
    return done(("resource-quotas",))


async def reset(admin: RecordServices, request: Request) -> Reply:
    bundle = await _bundle(admin, request)
    await admin.resources.objects.put(paths.RESOURCE_QUOTAS, **{bundle: None})
    return done()


async def _stored(admin: RecordServices) -> Json:
    return await admin.resources.objects.get(paths.RESOURCE_QUOTAS) or {}


async def _default(admin: RecordServices) -> Json:
    return (await _stored(admin)).get(_KEY, _DEFAULT)  # type: ignore[no-any-return]  # JSON.


async def _bundle(admin: RecordServices, request: Request) -> str:
    namespace, text = arguments.namespace(request), request.segments["bundle"]
    record = await admin.resources.namespace(namespace)
    if record is None:
        raise NamespaceNotFound("Namespace does not exist")
    return str(record.bundles.named(text, namespace))


def _quota(request: Request) -> Json:
    sent = arguments.json_object(request) or {}
    dynamic = bool(arguments.read(jackson.truth, sent.get(_DYNAMIC), _DYNAMIC))
    return {
        **{key: arguments.read(jackson.number, sent.get(key), key) or 0.0 for key in _NUMBERS},
        _DYNAMIC: dynamic,
    }


_ALL = "/admin/v2/resource-quotas"
_ONE = f"{_ALL}/{{tenant}}/{{namespace}}/{{bundle}}"
SERVICES: Final = RecordServices
ROUTES: Final = (
    Route("GET", _ALL, get_default, Access.SUPERUSER),
    Route("POST", _ALL, set_default, Access.SUPERUSER, takes=(JSON,)),
    Route("GET", _ONE, get, Access.SUPERUSER),
    Route("POST", _ONE, change, Access.SUPERUSER, takes=(JSON,)),
    Route("DELETE", _ONE, reset, Access.SUPERUSER),
)
