"""Shows, sets and removes the policies of namespaces and topics, by one table."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.policy_shapes import shape_of
from magnetar.broker.admin.routes import backlog_quotas, subscription_dispatch_rate
from magnetar.broker.admin.routes.policy_scope import (
    APPLIED,
    NAMESPACE,
    TOPICS,
    PolicyScope,
    TopicScope,
)
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import InvalidValue, NamespaceNotFound
from magnetar.model import policy_values as values
from magnetar.model.policies import ROWS, Combined, schema_strategy
from magnetar.model.policy_rows import REFUSED, Endpoint, Level, PolicyRow
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route


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
    await scope.own(admin, request)
    try:
        await scope.change(admin, request, **{row.name: value})
    except InvalidValue as error:
        raise Rejection(row.refusal, str(error)) from None
    return done(() if row.acts or value is None else (at.path,))


async def remove(
    scope: PolicyScope, row: PolicyRow, at: Endpoint, admin: RecordServices, request: Request
) -> Reply:
    await scope.own(admin, request)
    await scope.change(admin, request, **{row.name: at.removed})
    return done()


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


def _routes() -> Iterator[Route]:
    yield from backlog_quotas.routes()
    for scope in (NAMESPACE, *TOPICS):
        path = f"{scope.path}/policies"
        yield Route("GET", path, partial(get_all, scope), Access.TENANT_ADMIN)
        for row in ROWS.values():
            yield from _routes_of(scope, row)
    for topics in TOPICS:
        yield from subscription_dispatch_rate.routes(topics)
        path = f"{topics.path}/policies"
        removing = partial(remove_all, topics)
        yield Route("DELETE", path, removing, Access.TENANT_ADMIN, topics.about)


SERVICES: Final = RecordServices
ROUTES: Final = tuple(_routes())
