"""Backlogs and subscriptions of all topics of a namespace, or of one of its bundles, at once."""

from collections.abc import AsyncIterator
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfBundle, OfBundles
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import StoredTopic, storing
from magnetar.errors import SubscriptionNotFound, TopicNotFound
from magnetar.model.bundles import Bundle
from magnetar.model.names import PERSISTENT
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done
from magnetar.rest.router import Route


async def clear(admin: TopicServices, request: Request, bundle: Bundle) -> Reply:
    """Acknowledge everything: of one subscription or replicator by its name, or of all."""
    only = arguments.subscription(request) if "subscription" in request.segments else None
    found, topics = only is None, 0
    async for topic in _topics(admin, bundle):
        topics += 1
        for subscription in topic.upkeep.backlogs():
            if only in (None, subscription.name):
                await topic.skip(subscription)
                found = True
    if topics and not found:
        raise SubscriptionNotFound(
            f"Subscription {only} is on no topic of {arguments.namespace(request)}"
        )
    return done()


async def unsubscribe(admin: TopicServices, request: Request, bundle: Bundle) -> Reply:
    """Delete the subscriptions of a name that no consumer is connected to."""
    name, busy = arguments.subscription(request), []
    async for topic in _topics(admin, bundle):
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


async def _topics(admin: TopicServices, bundle: Bundle) -> AsyncIterator[StoredTopic]:
    """The persistent topics of a bundle, opened one after the other."""
    topics = await admin.resources.topics(bundle.namespace, PERSISTENT)
    for name in filter(bundle.holds, topics):
        try:
            yield storing(await admin.owners.access.open(name))
        except TopicNotFound:
            continue  # It was deleted meanwhile.


_ALL: Final = "/admin/v2/namespaces/{tenant}/{namespace}"
SERVICES: Final = TopicServices
ROUTES: Final = tuple(
    Route("POST", f"{where}/{path}", handler, Access.NAMESPACE_CONSUME, about)
    for where, about in ((_ALL, OfBundles()), (f"{_ALL}/{{bundle}}", OfBundle()))
    for path, handler in (
        ("clearBacklog", clear),
        ("clearBacklog/{subscription}", clear),
        ("unsubscribe/{subscription}", unsubscribe),
    )
)
