"""Shows, sets and removes the policies of namespaces and topics, by one table.

Three have routes of their own: the two backlog quotas, which are shown in one map, and the dispatch
rate of one subscription, over that of its topic's subscriptions.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.policy_shapes import shape_of
from magnetar.broker.admin.routes.policy_scope import (
    APPLIED,
    NAMESPACE,
    TOPICS,
    PolicyScope,
    TopicScope,
    routes_at,
    set_own,
)
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import InvalidValue, NamespaceNotFound
from magnetar.model import policy_values as values
from magnetar.model.policies import ROWS, Combined, schema_strategy
from magnetar.model.policy_rows import REFUSED, Endpoint, Level, PolicyRow
from magnetar.model.policy_values import (
    BacklogQuota,
    BacklogQuotaPolicy,
    DispatchRate,
    SubscriptionPolicies,
)
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads

_SIZE: Final = "destination_storage"
_QUOTAS: Final = {
    str(row.namespace.part): row.name
    for row in ROWS.values()
    if row.namespace is not None and row.namespace.path == "backlogQuota"
}
_NO_LIMIT: Final = BacklogQuota(-1, -1, BacklogQuotaPolicy.HOLD)
_OLD_KEY: Final = "limit"  # Pulsar shows it, beside limitSize.
_NO_RATE: Final = DispatchRate(period_s=1)


async def get(
    scope: PolicyScope, row: PolicyRow, at: Endpoint, admin: RecordServices, request: Request
) -> Reply:
    try:
        found = getattr(await scope.own(admin, request), row.name)
    except NamespaceNotFound as error:
        raise NamespaceNotFound(at.nowhere or str(error)) from None
    if at.applies and request.flag("applied"):
        found = _holding(row, await scope.combined(admin, request))
    if found is not None:
        return shown(values.to_json(found))
    return Reply(at.unset_status) if at.unset is None else shown(at.unset)


async def change(
    scope: PolicyScope, row: PolicyRow, at: Endpoint, admin: RecordServices, request: Request
) -> Reply:
    value = _value(row, at, request)
    if row.maximum and value > getattr(admin, row.maximum):
        raise Rejection(row.refusal, at.negative)
    try:
        await set_own(scope, admin, request, **{row.name: value})
    except InvalidValue as error:
        raise Rejection(row.refusal, str(error)) from None
    return done(() if row.acts or value is None else (at.path,))


async def remove(
    scope: PolicyScope, row: PolicyRow, at: Endpoint, admin: RecordServices, request: Request
) -> Reply:
    return await set_own(scope, admin, request, **{row.name: at.removed})


async def remove_all(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    """Unset all policies of a topic."""
    await admin.policies.forget(await scope.topic(admin, request))
    return done()


def _holding(row: PolicyRow, combined: Combined) -> Any:
    """The value that holds, whoever set it."""
    if row.name == "schema_compatibility":
        return schema_strategy(combined)
    found = getattr(combined.policies, row.name)
    return row.default if found is None else found


async def get_all(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    """All policies that can be set here, in groups: what holds, and who set it. Not in Pulsar."""
    own, combined = await scope.own(admin, request), await scope.combined(admin, request)
    groups: dict[str, list[Any]] = {}
    for row in ROWS.values():
        at = row.at(scope.level)
        if at is None or not at.path or not row.group:
            continue
        value = _holding(row, combined)
        if value is None and row.maximum:
            value = getattr(admin, row.maximum)
        level = combined.levels.get(row.name, Level.BROKER)
        groups.setdefault(row.group, []).append(
            {
                "label": row.words.label or row.name.replace("_", " ").capitalize(),
                "about": row.about,
                "shape": shape_of(row.kind, row.words),
                "value": values.to_json(value),
                "level": level.name.lower(),
                "method": at.method,
                "path": f"{at.path}?backlogQuotaType={at.part}" if at.own_routes else at.path,
                "parameter": at.parameter,
                "removable": at.removable and getattr(own, row.name) is not None,
            }
        )
    return shown([{"title": title, "policies": rows} for title, rows in groups.items()])


def _value(row: PolicyRow, at: Endpoint, request: Request) -> Any:
    """The value that is asked for; None removes the policy, where Pulsar takes that."""
    if row.kind == int | None:
        return _number(row, at, request)
    try:
        found = values.from_json(row.kind, arguments.body(request), at.path)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    return None if found == () else found


def _number(row: PolicyRow, at: Endpoint, request: Request) -> int | None:
    found: int | None
    if at.parameter:
        found = arguments.parameter(request, at.parameter)
    elif at.null is not REFUSED and request.body.strip() == b"null":
        found = at.null
    else:
        found = arguments.number(request)
    if found is not None and found < 0:
        raise Rejection(row.refusal, at.negative or f"{at.path} must be 0 or more")
    return found


def _routes_of(scope: PolicyScope, row: PolicyRow) -> Iterator[Route]:
    at = row.at(scope.level)
    if at is not None and at.path and not at.own_routes:
        path, query = f"{scope.path}/{at.path}", scope.query
        access = Access.SUPERUSER if at.superuser else Access.TENANT_ADMIN
        yield Route(
            "GET",
            path,
            partial(get, scope, row, at),
            Access.TENANT_ADMIN,
            scope.about,
            query=(*query, APPLIED) if at.applies else query,
            answer=row.kind,
        )
        yield Route(
            at.method,
            path,
            partial(change, scope, row, at),
            access,
            scope.about,
            takes=() if at.parameter else (JSON,),
            query=(*query, Query(at.parameter, "integer")) if at.parameter else query,
            body=row.kind,
        )
        if at.removable:
            removing = partial(remove, scope, row, at)
            yield Route("DELETE", path, removing, access, scope.about, query=query)


@reads(APPLIED)
async def get_quotas(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    policies, default = await scope.own(admin, request), None
    if scope is not NAMESPACE and request.flag("applied"):
        policies, default = (await scope.combined(admin, request)).policies, _NO_LIMIT
    quotas = {kind: getattr(policies, name) or default for kind, name in _QUOTAS.items()}
    return shown({kind: _quota_json(quota) for kind, quota in quotas.items() if quota is not None})


@reads(Query("backlogQuotaType"))
async def change_quota(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    return await set_own(scope, admin, request, **{_quota_policy(request): _sent_quota(request)})


@reads(Query("backlogQuotaType"))
async def remove_quota(scope: PolicyScope, admin: RecordServices, request: Request) -> Reply:
    return await set_own(scope, admin, request, **{_quota_policy(request): None})


def _quota_policy(request: Request) -> str:
    kind = request.query.get("backlogQuotaType", _SIZE)
    if kind not in _QUOTAS:
        known = ", ".join(_QUOTAS)
        raise Rejection(404, f"backlogQuotaType is one of {known}, not {kind}")
    return _QUOTAS[kind]


def _sent_quota(request: Request) -> BacklogQuota:
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


def _quota_json(quota: BacklogQuota) -> dict[str, Any]:
    return {_OLD_KEY: quota.limit_bytes, **values.to_json(quota)}


@reads(APPLIED)
async def get_rate(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    name = arguments.subscription(request)
    rate = ((await scope.own(admin, request)).of_subscriptions or {}).get(name)
    found = None if rate is None else rate.dispatch_rate
    if request.flag("applied"):
        policies = (await scope.combined(admin, request)).policies
        found = policies.dispatch_rate_of(name) or _NO_RATE
    return Reply(200) if found is None else shown(values.to_json(found))


async def change_rate(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    try:
        rate = values.from_json(DispatchRate, arguments.body(request), "dispatchRate")
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    of_one = {arguments.subscription(request): SubscriptionPolicies(rate)}
    return await set_own(scope, admin, request, of_subscriptions=of_one)


async def remove_rate(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    unset = {arguments.subscription(request): None}
    return await set_own(scope, admin, request, of_subscriptions=unset)


def _routes() -> Iterator[Route]:
    for scope in (NAMESPACE, *TOPICS):
        path = f"{scope.path}/policies"
        yield Route("GET", path, partial(get_all, scope), Access.TENANT_ADMIN, scope.about)
        quotas = get_quotas, change_quota, remove_quota
        yield from routes_at(scope, "backlogQuota", *quotas, GET="backlogQuotaMap")
        for row in ROWS.values():
            yield from _routes_of(scope, row)
    for topics in TOPICS:
        yield from routes_at(
            topics, "{subscription}/dispatchRate", get_rate, change_rate, remove_rate
        )
        path = f"{topics.path}/policies"
        removing = partial(remove_all, topics)
        yield Route("DELETE", path, removing, Access.TENANT_ADMIN, topics.about)


SERVICES: Final = RecordServices
ROUTES: Final = tuple(_routes())
