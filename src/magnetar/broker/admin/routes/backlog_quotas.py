"""The backlog quotas of namespaces and topics: two policies, which are shown in one map."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.policy_scope import APPLIED, NAMESPACE, TOPICS, PolicyScope
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import InvalidValue
from magnetar.model import policy_values as values
from magnetar.model.policies import ROWS
from magnetar.model.policy_values import BacklogQuota, BacklogQuotaPolicy
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads

_SIZE: Final = "destination_storage"
_POLICIES: Final = {
    str(row.namespace.part): row.name
    for row in ROWS.values()
    if row.namespace is not None and row.namespace.path == "backlogQuota"
}
_NO_LIMIT: Final = BacklogQuota(-1, -1, BacklogQuotaPolicy.HOLD)
_OLD_KEY: Final = "limit"  # Pulsar shows it, beside limitSize.


@reads(APPLIED)
async def get(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    policies, default = await scope.own(admin, request), None
    if scope is not NAMESPACE and request.flag("applied"):
        policies, default = (await scope.combined(admin, request)).policies, _NO_LIMIT
    quotas = {kind: getattr(policies, name) or default for kind, name in _POLICIES.items()}
    return shown({kind: _json(quota) for kind, quota in quotas.items() if quota is not None})


@reads(Query("backlogQuotaType"))
async def change(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    name, quota = _policy(request), _quota(request)
    await scope.own(admin, request)
    await scope.change(admin, request, **{name: quota})
    return done()


@reads(Query("backlogQuotaType"))
async def remove(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    name = _policy(request)
    await scope.own(admin, request)
    await scope.change(admin, request, **{name: None})
    return done()


def _policy(request: Request) -> str:
    kind = request.query.get("backlogQuotaType", _SIZE)
    if kind not in _POLICIES:
        known = ", ".join(_POLICIES)
        raise Rejection(404, f"backlogQuotaType is one of {known}, not {kind}")
    return _POLICIES[kind]


def _quota(request: Request) -> BacklogQuota:
    sent = arguments.json_object(request) or {}
    try:
        quota: BacklogQuota = values.from_json(BacklogQuota, sent, "backlogQuota")
        quota.check()
    except InvalidValue as error:
        where = arguments.namespace(request)
        raise Rejection(
            400,
            f"Set namespace[{where}] backlog quota failed because the data validation failed. "
            f"{error}",
        ) from None
    return quota


def _json(quota: BacklogQuota) -> dict[str, Any]:
    return {_OLD_KEY: quota.limit_bytes, **values.to_json(quota)}


def routes() -> Iterator[Route]:
    for scope in (NAMESPACE, *TOPICS):
        one = f"{scope.path}/backlogQuota"
        yield Route("GET", f"{one}Map", partial(get, scope), Access.TENANT_ADMIN, scope.about)
        yield Route(
            "POST", one, partial(change, scope), Access.TENANT_ADMIN, scope.about, takes=(JSON,)
        )
        yield Route("DELETE", one, partial(remove, scope), Access.TENANT_ADMIN, scope.about)
