"""The broker in one look, and what it does as it happens. Not in Pulsar."""

from functools import partial
from typing import Any, Final

from magnetar.auth.access import Access
from magnetar.broker.admin.events import INTERVAL_S_MAX
from magnetar.broker.admin.overview import Sight
from magnetar.broker.admin.owners import by_name, granted
from magnetar.broker.admin.rates import TopicRates
from magnetar.broker.admin.routes.rights import may_see
from magnetar.broker.admin.routes.topic_stats import partitioned_shown, topic_shown
from magnetar.broker.admin.services import BrokerServices
from magnetar.broker.admin.stats import StatsOptions
from magnetar.errors import InvalidName
from magnetar.model.names import NamespaceName, TopicName
from magnetar.model.stats import TopicStats
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import EVENTS, Reply, Request, shown
from magnetar.rest.router import ANY, Query, Route, reads


async def get(admin: BrokerServices, request: Request) -> Reply:
    look = await admin.overview.look()
    return shown(admin.overview.shown(look, await _sight(admin, request), **admin.named))


@reads(Query("interval", "integer"), Query("topic"))
async def events(admin: BrokerServices, request: Request) -> Reply:
    interval_s = arguments.parameter(request, "interval")
    if interval_s is None:
        interval_s = 1
    if not 1 <= interval_s <= INTERVAL_S_MAX:
        raise Rejection(412, f"interval is a number of seconds from 1 to {INTERVAL_S_MAX}")
    topic = _topic(request)
    sight = partial(_sight_with, admin, request, topic)
    await sight()
    if topic is not None:
        await _live(admin, topic, admin.clock.now())  # Whoever misspells it is told at once.
    headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
    watched = None if topic is None else partial(_live, admin, topic)
    listener = admin.events.listen(interval_s, sight, topic, watched, role=request.role)
    return Reply(200, content_type=EVENTS, headers=headers, stream=listener)


async def _live(admin: BrokerServices, topic: TopicName, now: float) -> dict[str, Any]:
    """The stats of a topic, or of all partitions of one, with the rates since the last tick."""

    def rates_of(name: TopicName, stats: TopicStats) -> TopicRates:
        rates = admin.events.rates
        rates.tick(str(name), stats, now)
        return rates.of(str(name))

    wanted = StatsOptions(publishers=admin.of_topics.publishers)
    partitions = await admin.owners.partitions(topic)
    parts = {}
    for name in partitions or [topic]:
        if name in admin.topics.loaded:
            parts[str(name)] = await topic_shown(
                admin.of_topics, admin.topics.loaded[name], wanted, rates_of
            )
        else:  # Elsewhere, or opened for this: with the rates of the last minute.
            reply = await admin.owners.ask_topic(name, "GET", "/stats")
            granted({name: reply}, but=404 if partitions else 0)
            parts |= by_name({name: reply})
    if not partitions:
        return parts[str(topic)]
    return await partitioned_shown(admin.of_topics, topic, parts, each=True)


def _topic(request: Request) -> TopicName | None:
    name = request.query.get("topic")
    if name is None:
        return None
    try:
        return TopicName.parse(name)
    except InvalidName as error:
        raise Rejection(412, f"Topic name is not valid: {error}") from error


async def _sight(admin: BrokerServices, request: Request) -> Sight:
    """The namespaces that the role of a request may see."""
    if await _may(admin, request, Access.SUPERUSER, None):
        return None
    look = await admin.overview.look()
    return frozenset([each for each in look.namespaces if await may_see(admin, request, each)])


async def _sight_with(admin: BrokerServices, request: Request, topic: TopicName | None) -> Sight:
    """The same, for who may see a topic. Raises Rejection."""
    if topic is not None and not await _may(admin, request, Access.LOOKUP, topic.namespace, topic):
        raise Rejection(401, f"Don't have permission to see {topic}")
    return await _sight(admin, request)


async def _may(
    admin: BrokerServices,
    request: Request,
    access: Access,
    namespace: NamespaceName | None,
    topic: TopicName | None = None,
) -> bool:
    if admin.authorization is None:
        return True
    tenant = "" if namespace is None else namespace.tenant
    return await admin.authorization.may(
        request, access, tenant=tenant, namespace=namespace, topic=topic, subscription=""
    )


_MAGNETAR: Final = "/admin/v2/magnetar"
SERVICES: Final = BrokerServices
ROUTES: Final = (
    Route("GET", f"{_MAGNETAR}/overview", get, Access.AUTHENTICATED),
    Route("GET", f"{_MAGNETAR}/events", events, Access.AUTHENTICATED, gives=ANY),
)
