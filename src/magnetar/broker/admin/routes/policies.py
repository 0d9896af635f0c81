"""Shows, sets and removes the policies of namespaces and topics, by one table."""

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.policy_table import KINDS, POLICY_ROWS, REFUSED, Offer, PolicyRow
from magnetar.broker.admin.routes import backlog_quotas, subscription_dispatch_rate
from magnetar.broker.admin.routes.policy_scope import (
    APPLIED,
    NAMESPACE,
    TOPICS,
    PolicyScope,
    TopicScope,
)
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import InvalidValue, NamespaceNotFound
from magnetar.model import policy_values as values
from magnetar.model.policies import IN_FORCE, Combined, schema_strategy
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route


async def get(
    scope: PolicyScope, row: PolicyRow, offer: Offer, admin: AdminServices, request: Request
) -> Reply:
    try:
        found = getattr(await scope.own(admin, request), row.name)
    except NamespaceNotFound as error:
        raise NamespaceNotFound(offer.nowhere or str(error)) from None
    if offer.applies and request.flag("applied"):
        found = _holding(row, await scope.combined(admin, request))
    if found is not None:
        return shown(values.to_json(found))
    return Reply(offer.unset_status) if offer.unset is None else shown(offer.unset)


async def change(
    scope: PolicyScope, row: PolicyRow, offer: Offer, admin: AdminServices, request: Request
) -> Reply:
    value = _value(row, offer, request)
    if row.maximum and value > getattr(admin, row.maximum):
        raise Rejection(row.refusal, offer.negative)
    await scope.own(admin, request)
    try:
        await scope.change(admin, request, **{row.name: value})
    except InvalidValue as error:
        raise Rejection(row.refusal, str(error)) from None
    return done(() if row.name in IN_FORCE or value is None else (offer.path,))


async def remove(
    scope: PolicyScope, row: PolicyRow, offer: Offer, admin: AdminServices, request: Request
) -> Reply:
    await scope.own(admin, request)
    await scope.change(admin, request, **{row.name: offer.removed})
    return done()


async def remove_all(scope: TopicScope, admin: AdminServices, request: Request) -> Reply:
    """Unset all policies of a topic."""
    await admin.policies.forget(await scope.topic(admin, request))
    return done()


def _holding(row: PolicyRow, combined: Combined) -> Any:
    """The value that holds, whoever set it."""
    if row.name == "schema_compatibility":
        return schema_strategy(combined)
    found = getattr(combined.policies, row.name)
    return row.default if found is None else found


def _value(row: PolicyRow, offer: Offer, request: Request) -> Any:
    """The value that is asked for; None removes the policy, where Pulsar takes that."""
    kind = KINDS[row.name]
    if kind == int | None:
        return _number(row, offer, request)
    try:
        found = values.from_json(kind, arguments.body(request), offer.path)
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    return None if found == () else found


def _number(row: PolicyRow, offer: Offer, request: Request) -> int | None:
    found: int | None
    if offer.parameter:
        found = arguments.parameter(request, offer.parameter)
    elif offer.null is not REFUSED and request.body.strip() == b"null":
        found = offer.null
    else:
        found = arguments.number(request)
    if found is not None and found < 0:
        raise Rejection(row.refusal, offer.negative or f"{offer.path} must be 0 or more")
    return found


def _routes_of(scope: PolicyScope, row: PolicyRow) -> Iterator[Route]:
    offer = scope.offer(row)
    if offer is not None:
        path, access = f"{scope.path}/{offer.path}", offer.access
        kind, query = KINDS[row.name], scope.query
        yield Route(
            "GET",
            path,
            partial(get, scope, row, offer),
            access=Access.TENANT_ADMIN,
            query=(*query, APPLIED) if offer.applies else query,
            answer=kind,
        )
        yield Route(
            offer.verb,
            path,
            partial(change, scope, row, offer),
            takes=() if offer.parameter else (JSON,),
            access=access,
            query=(*query, Query(offer.parameter, "integer")) if offer.parameter else query,
            body=kind,
        )
        if offer.removable:
            removing = partial(remove, scope, row, offer)
            yield Route("DELETE", path, removing, access=access, query=query)


def _routes() -> Iterator[Route]:
    yield from backlog_quotas.routes()
    for row in POLICY_ROWS:
        for scope in (NAMESPACE, *TOPICS):
            yield from _routes_of(scope, row)
    for topics in TOPICS:
        yield from subscription_dispatch_rate.routes(topics)
        path = f"{topics.path}/policies"
        yield Route("DELETE", path, partial(remove_all, topics), access=Access.TENANT_ADMIN)


ROUTES: Final = tuple(_routes())
