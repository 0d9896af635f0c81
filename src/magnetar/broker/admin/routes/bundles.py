"""The bundles of a namespace: split, unloaded, deleted, and where topics are in one."""

from itertools import pairwise
from statistics import median_low
from typing import Final

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request, done, shown
from magnetar.broker.admin.router import Query, Route, reads
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.auth.access import Access
from magnetar.errors import InvalidName, NotFound
from magnetar.model.names import DOMAINS, NamespaceName, TopicName
from magnetar.model.records import place_of, range_text

_HALVES: Final = "range_equally_divide"
_BY_TOPICS: Final = "topic_count_equally_divide"
_AT_PLACES: Final = "specified_positions_divide"
_BY_LOAD: Final = "flow_or_qps_equally_divide"
_ALGORITHMS: Final = (_HALVES, _BY_TOPICS, _AT_PLACES, _BY_LOAD)


class Bundle:
    """The bundle that a request names."""

    def __init__(self, namespace: NamespaceName, low: int, high: int) -> None:
        self.namespace = namespace
        self.low = low
        self.high = high

    def __str__(self) -> str:
        return f"{self.namespace}/{range_text(self.low, self.high)}"

    async def topics(self, admin: AdminServices) -> list[TopicName]:
        """Those that exist, partitions one by one."""
        bundles = (await admin.resources.require_namespace(self.namespace)).bundles
        own = range_text(self.low, self.high)
        return [
            name
            for domain in DOMAINS
            for name in await admin.resources.topics(self.namespace, domain)
            if bundles.range_of(name) == own
        ]


async def bundle_of(admin: AdminServices, request: Request, *, owned: bool = False) -> Bundle:
    """The bundle of a path. Raises NamespaceNotFound, InvalidValue.

    ``owned``: it must be one that is served here; else it is a Rejection.
    """
    namespace = arguments.namespace(request)
    record = await admin.resources.require_namespace(namespace)
    bundle = Bundle(namespace, *record.bundles.bounds(request.segments["bundle"], namespace))
    if owned and not admin.ownership.owns(str(bundle)):
        raise Rejection(412, f"Failed to find ownership for ServiceUnit:{bundle}")
    return bundle


@reads(Query("splitAlgorithmName"), Query("unload", "boolean"))
async def split(admin: AdminServices, request: Request) -> Reply:
    algorithm = request.query.get("splitAlgorithmName", _HALVES)
    if algorithm not in _ALGORITHMS:
        raise Rejection(
            412,
            "Unsupported namespace bundle split algorithm, supported algorithms are "
            f"[{', '.join(_ALGORITHMS)}]",
        )
    bundle = await bundle_of(admin, request)
    places = sorted(await _places(admin, request, bundle, algorithm))
    if places:
        topics = await bundle.topics(admin) if request.flag("unload") else []
        await admin.resources.split_bundles(bundle.namespace, places)
        bounds = (bundle.low, *places, bundle.high)
        parts = [f"{bundle.namespace}/{range_text(*each)}" for each in pairwise(bounds)]
        admin.ownership.split(str(bundle), parts)
        for topic in topics:
            await admin.access.unload(topic)
        if topics:
            admin.ownership.release(parts)
    return done()


async def _places(
    admin: AdminServices, request: Request, bundle: Bundle, algorithm: str
) -> set[int]:
    """Where new bundles begin; nowhere, as in Pulsar, where there are no two topics to part."""
    if algorithm == _BY_LOAD:
        raise _no_load(algorithm)
    if algorithm == _HALVES:
        middle = bundle.low + (bundle.high - bundle.low + 1) // 2
        return {middle} if bundle.low < middle < bundle.high else set()
    hashes = sorted(map(place_of, await bundle.topics(admin)))
    if algorithm == _AT_PLACES:
        asked = arguments.body(request)
        if not isinstance(asked, list) or not asked:
            raise Rejection(412, "Say where to split, in the body: a list of hashes of 32 bits")
        inside = {arguments.whole(each, "A place to split at") for each in asked}
    else:
        inside = {median_low(hashes) + 1} if hashes else set()
    return (
        {each for each in inside if bundle.low < each < bundle.high} if len(hashes) > 1 else set()
    )


def _no_load(algorithm: str) -> Rejection:
    return Rejection(
        412,
        f"This broker does not split bundles by {algorithm}, which is about several brokers: use "
        f"{_HALVES}, {_BY_TOPICS} or {_AT_PLACES}",
    )


@reads(Query("destinationBroker"))
async def unload(admin: AdminServices, request: Request) -> Reply:
    """Close the topics of a bundle; clients look them up again."""
    if request.query.get("destinationBroker") not in (None, "", admin.broker_id):
        raise NotFound(f"There is no broker beside {admin.broker_id} to unload to")
    bundle = await bundle_of(admin, request)
    for topic in await bundle.topics(admin):
        await admin.access.unload(topic)
    admin.ownership.release([str(bundle)])
    return done()


async def unload_namespace(admin: AdminServices, request: Request) -> Reply:
    namespace = arguments.namespace(request)
    record = await admin.resources.require_namespace(namespace)
    for topic in [name for name in admin.topics.loaded if name.namespace == namespace]:
        await admin.access.unload(topic)
    admin.ownership.release(f"{namespace}/{each}" for each in record.bundles.ranges)
    return done()


async def delete(admin: AdminServices, request: Request) -> Reply:
    """Serve an empty bundle no more."""
    bundle = await bundle_of(admin, request, owned=True)
    if await bundle.topics(admin):
        raise Rejection(409, "Cannot delete non empty bundle")
    admin.ownership.release([str(bundle)])
    return done()


async def hash_positions(admin: AdminServices, request: Request) -> Reply:
    bundle = await bundle_of(admin, request, owned=True)
    topics = await bundle.topics(admin)
    if "topics" in request.query:
        topics = [name for name in topics if name in _named(request.query["topics"])]
    positions = {str(name): place_of(name) for name in topics}
    return shown(
        {
            "namespace": str(bundle.namespace),
            "bundle": range_text(bundle.low, bundle.high),
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
ROUTES: Final = (
    Route("PUT", f"{_NAMESPACE}/unload", unload_namespace, access=Access.SUPERUSER),
    Route("PUT", f"{_ONE}/unload", unload, access=Access.SUPERUSER),
    Route("PUT", f"{_ONE}/split", split, takes=(JSON,), access=Access.SUPERUSER),
    Route("DELETE", _ONE, delete, access=Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/topicHashPositions", hash_positions, access=Access.TENANT_ADMIN),
)
