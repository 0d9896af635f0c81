"""The bundles of a namespace: split, unloaded, deleted, and where topics are in one."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import OfBundle, OfBundles
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.cluster.load.splitting import halved_by_traffic
from magnetar.errors import InvalidName, NotFound
from magnetar.model.bundles import Bundle, halved, halved_by_count, hash_of, split_where
from magnetar.model.names import DOMAINS, TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import Query, Route, reads

_HALVES: Final = "range_equally_divide"
_BY_TOPICS: Final = "topic_count_equally_divide"
_AT_PLACES: Final = "specified_positions_divide"
_BY_TRAFFIC: Final = "flow_or_qps_equally_divide"
_ALGORITHMS: Final = (_HALVES, _BY_TOPICS, _AT_PLACES, _BY_TRAFFIC)


async def topics_in(admin: TopicServices, bundle: Bundle) -> list[TopicName]:
    """The topics of a bundle that exist, partitions one by one."""
    return [
        name
        for domain in DOMAINS
        for name in await admin.resources.topics(bundle.namespace, domain)
        if bundle.holds(name)
    ]


@reads(Query("splitAlgorithmName"), Query("unload", "boolean"))
async def split(admin: TopicServices, request: Request, bundle: Bundle) -> Reply:
    algorithm = request.query.get("splitAlgorithmName", _HALVES)
    boundaries = sorted(await _boundaries(admin, request, bundle, algorithm))
    if boundaries:
        parts = bundle.split_at(boundaries)
        await admin.topics.split_bundle(
            bundle, parts, lambda: admin.resources.split_bundles(bundle.namespace, boundaries)
        )
        for part in parts if request.flag("unload") else ():
            await admin.topics.unload_bundle(part)
    return done()


def _check_algorithm(request: Request) -> None:
    if request.query.get("splitAlgorithmName", _HALVES) not in _ALGORITHMS:
        raise Rejection(
            412,
            "Unsupported namespace bundle split algorithm, supported algorithms are "
            f"[{', '.join(_ALGORITHMS)}]",
        )


async def _boundaries(
    admin: TopicServices, request: Request, bundle: Bundle, algorithm: str
) -> set[int]:
    """Where new bundles begin; nowhere, as in Pulsar, where there are no two topics to part."""
    if algorithm == _HALVES:
        return halved(bundle)
    topics = await topics_in(admin, bundle)
    if algorithm == _BY_TOPICS:
        return halved_by_count(bundle, topics)
    if algorithm == _BY_TRAFFIC:
        return halved_by_traffic(bundle, {name: _messages(admin, name) for name in topics})
    asked = arguments.body(request)
    if not isinstance(asked, list) or not asked:
        raise Rejection(412, "Say where to split, in the body: a list of hashes of 32 bits")
    return split_where(
        {arguments.whole(each, "A place to split at") for each in asked}, bundle, topics
    )


def _messages(admin: TopicServices, name: TopicName) -> float:
    """Messages a second that came and went in the last whole minute that was looked at."""
    rates = admin.rates.of(str(name))
    return sum(its.messages for key, its in rates.items() if key.kind in {"topic", "subscription"})


@reads(Query("destinationBroker"))
async def unload(admin: TopicServices, request: Request, bundle: Bundle) -> Reply:
    """Close the topics of a bundle; clients look them up again, at another broker if that is said.

    A bundle that nobody serves stays so.
    """
    name = request.query.get("destinationBroker")
    to = await admin.owners.brokers.get(name) if name else None
    if name and to is None:
        raise NotFound(f"There is no broker {name} to unload to")
    await admin.topics.unload_bundle(bundle, to)
    return done()


async def delete(admin: TopicServices, _request: Request, bundle: Bundle) -> Reply:
    """Serve an empty bundle no more."""
    if await topics_in(admin, bundle):
        raise Rejection(409, "Cannot delete non empty bundle")
    await admin.topics.unload_bundle(bundle)
    return done()


async def hash_positions(admin: TopicServices, request: Request, bundle: Bundle) -> Reply:
    topics = await topics_in(admin, bundle)
    if "topics" in request.query:
        topics = [name for name in topics if name in _named(request.query["topics"])]
    positions = {str(name): hash_of(name) for name in topics}
    return shown(
        {
            "namespace": str(bundle.namespace),
            "bundle": bundle.range,
            "topicHashPositions": positions,
        }
    )


def _named(text: str) -> set[TopicName]:
    try:
        return {TopicName.parse(each.strip()) for each in text.split(",")}
    except InvalidName as error:
        raise Rejection(412, f"Topic name is not valid: {error}") from error


_NAMESPACE = "/admin/v2/namespaces/{tenant}/{namespace}"
_ONE = f"{_NAMESPACE}/{{bundle}}"
_ANY: Final = OfBundle(unserved=True)
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("PUT", f"{_NAMESPACE}/unload", unload, Access.SUPERUSER, OfBundles(served=True)),
    Route("PUT", f"{_ONE}/unload", unload, Access.SUPERUSER, _ANY),
    Route(
        "PUT",
        f"{_ONE}/split",
        split,
        Access.SUPERUSER,
        OfBundle(unserved=True, check=_check_algorithm),
        takes=(JSON,),
    ),
    Route("DELETE", _ONE, delete, Access.TENANT_ADMIN, OfBundle()),
    Route("GET", f"{_ONE}/topicHashPositions", hash_positions, Access.TENANT_ADMIN, OfBundle()),
)
