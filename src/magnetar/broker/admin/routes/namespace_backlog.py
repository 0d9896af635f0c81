"""Backlogs and subscriptions of all topics of a namespace, or of one of its bundles, at once."""

from collections.abc import AsyncIterator
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.bundles import bundle_of, topics_in
from magnetar.broker.admin.routes.namespaces import existing
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.topics.topic import StoredTopic
from magnetar.errors import SubscriptionNotFound, TopicNotFound
from magnetar.model.names import PERSISTENT
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done
from magnetar.rest.router import Route


async def clear(admin: AdminServices, request: Request) -> Reply:
    """Acknowledge everything, for one subscription name or for all subscriptions."""
    only = arguments.subscription(request) if "subscription" in request.segments else None
    found, topics = only is None, 0
    async for topic in _topics(admin, request):
        topics += 1
        for subscription in list(topic.subscriptions.values()):
            if only in (None, subscription.name):
                await topic.skip(subscription)
                found = True
    if topics and not found:
        raise SubscriptionNotFound(
            f"Subscription {only} is on no topic of {arguments.namespace(request)}"
        )
    return done()


async def unsubscribe(admin: AdminServices, request: Request) -> Reply:
    """Delete the subscriptions of a name that no consumer is connected to."""
    name, busy = arguments.subscription(request), []
    async for topic in _topics(admin, request):
        subscription = topic.subscriptions.get(name)
        if subscription is None:
            continue
        if subscription.consumers:
            busy.append(topic.name)
        else:
            await topic.delete_subscription(name)
    if busy:
        raise Rejection(
            412,
            f"Subscription {name} has active connected consumers on {len(busy)} topics, the first "
            f"of them {busy[0]}; it was deleted on the others",
        )
    return done()


async def _topics(admin: AdminServices, request: Request) -> AsyncIterator[StoredTopic]:
    """The persistent topics, opened one after the other."""
    if "bundle" in request.segments:
        names = await topics_in(admin, await bundle_of(admin, request, owned=True))
    else:
        await existing(admin, request)
        names = await admin.resources.topics(arguments.namespace(request), PERSISTENT)
    chosen = [name for name in names if name.persistent]
    for name in chosen:
        try:
            yield await admin.access.open_stored(name)
        except TopicNotFound:
            continue  # It was deleted meanwhile.


_ALL: Final = "/admin/v2/namespaces/{tenant}/{namespace}"
ROUTES: Final = tuple(
    Route("POST", f"{where}/{path}", handler, access=Access.NAMESPACE_CONSUME)
    for where in (_ALL, f"{_ALL}/{{bundle}}")
    for path, handler in (
        ("clearBacklog", clear),
        ("clearBacklog/{subscription}", clear),
        ("unsubscribe/{subscription}", unsubscribe),
    )
)
