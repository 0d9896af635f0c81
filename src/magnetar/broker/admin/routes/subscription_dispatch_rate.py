"""The dispatch rate of one subscription, over that of its topic's subscriptions."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.policy_scope import APPLIED, TopicScope
from magnetar.broker.admin.services import RecordServices
from magnetar.errors import InvalidValue
from magnetar.model import policy_values as values
from magnetar.model.policy_values import DispatchRate, SubscriptionPolicies
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Route, reads

_NO_RATE: Final = DispatchRate(period_s=1)


@reads(APPLIED)
async def get(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    name = arguments.subscription(request)
    rate = ((await scope.own(admin, request)).of_subscriptions or {}).get(name)
    found = None if rate is None else rate.dispatch_rate
    if request.flag("applied"):
        policies = (await scope.combined(admin, request)).policies
        found = policies.dispatch_rate_of(name) or _NO_RATE
    return Reply(200) if found is None else shown(values.to_json(found))


async def change(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    try:
        rate = values.from_json(DispatchRate, arguments.body(request), "dispatchRate")
    except InvalidValue as error:
        raise Rejection(400, str(error)) from None
    await scope.own(admin, request)
    of_one = {arguments.subscription(request): SubscriptionPolicies(rate)}
    await scope.change(admin, request, of_subscriptions=of_one)
    return done()


async def remove(scope: TopicScope, admin: RecordServices, request: Request) -> Reply:
    await scope.own(admin, request)
    await scope.change(admin, request, of_subscriptions={arguments.subscription(request): None})
    return done()


def routes(scope: TopicScope) -> Iterator[Route]:
    path = f"{scope.path}/{{subscription}}/dispatchRate"
    yield Route("GET", path, partial(get, scope), Access.TENANT_ADMIN, scope.about)
    yield Route(
        "POST", path, partial(change, scope), Access.TENANT_ADMIN, scope.about, takes=(JSON,)
    )
    yield Route("DELETE", path, partial(remove, scope), Access.TENANT_ADMIN, scope.about)
