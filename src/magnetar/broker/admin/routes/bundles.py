"""The bundles of a namespace: split, unloaded, deleted, and where topics are in one."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
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
_BY_LOAD: Final = "flow_or_qps_equally_divide"
_ALGORITHMS: Final = (_HALVES, _BY_TOPICS, _AT_PLACES, _BY_LOAD)


async def bundle_of(admin: AdminServices, request: Request, *, owned: bool = False) -> Bundle:
    """The bundle of a path. Raises NamespaceNotFound, InvalidValue.

    ``owned``: it must be one that is served here; else it is a Rejection.
    """
    namespace = arguments.namespace(request)
    record = await admin.resources.require_namespace(namespace)
    bundle = record.bundles.named(request.segments["bundle"], namespace)
    if owned and not admin.ownership.owns(bundle):
        raise Rejection(412, f"Failed to find ownership for ServiceUnit:{bundle}")
    return bundle


async def topics_in(admin: AdminServices, bundle: Bundle) -> list[TopicName]:
    """The topics of a bundle that exist, partitions one by one."""
    return [
        name
        for domain in DOMAINS
        for name in await admin.resources.topics(bundle.namespace, domain)
        if bundle.holds(name)
    ]


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
    boundaries = sorted(await _boundaries(admin, request, bundle, algorithm))
    if boundaries:
        parts = bundle.split_at(boundaries)
        await admin.topics.split_bundle(
            bundle, parts, lambda: admin.resources.split_bundles(bundle.namespace, boundaries)
        )
        for part in parts if request.flag("unload") else ():
            await admin.topics.unload_bundle(part)
    return done()


async def _boundaries(
    admin: AdminServices, request: Request, bundle: Bundle, algorithm: str
) -> set[int]:
    """Where new bundles begin; nowhere, as in Pulsar, where there are no two topics to part."""
    if algorithm == _BY_LOAD:
        raise _no_load(algorithm)
    if algorithm == _HALVES:
        return halved(bundle)
    topics = await topics_in(admin, bundle)
    if algorithm == _BY_TOPICS:
        return halved_by_count(bundle, topics)
    asked = arguments.body(request)
    if not isinstance(asked, list) or not asked:
        raise Rejection(412, "Say where to split, in the body: a list of hashes of 32 bits")
    return split_where(
        {arguments.whole(each, "A place to split at") for each in asked}, bundle, topics
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
    await admin.topics.unload_bundle(await bundle_of(admin, request))
    return done()


async def unload_namespace(admin: AdminServices, request: Request) -> Reply:
    namespace = arguments.namespace(request)
    record = await admin.resources.require_namespace(namespace)
    for bundle in record.bundles.of(namespace):
        await admin.topics.unload_bundle(bundle)
    return done()


async def delete(admin: AdminServices, request: Request) -> Reply:
    """Serve an empty bundle no more."""
    bundle = await bundle_of(admin, request, owned=True)
    if await topics_in(admin, bundle):
        raise Rejection(409, "Cannot delete non empty bundle")
    await admin.topics.unload_bundle(bundle)
    return done()


async def hash_positions(admin: AdminServices, request: Request) -> Reply:
    bundle = await bundle_of(admin, request, owned=True)
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
ROUTES: Final = (
    Route("PUT", f"{_NAMESPACE}/unload", unload_namespace, access=Access.SUPERUSER),
    Route("PUT", f"{_ONE}/unload", unload, access=Access.SUPERUSER),
    Route("PUT", f"{_ONE}/split", split, takes=(JSON,), access=Access.SUPERUSER),
    Route("DELETE", _ONE, delete, access=Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/topicHashPositions", hash_positions, access=Access.TENANT_ADMIN),
)
