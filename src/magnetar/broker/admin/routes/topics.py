"""Topics: creation, partitions, lists, deletion."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import AtOwner, OfPartitions
from magnetar.broker.admin.routes.namespaces import SYSTEM_TOPICS, existing, shown_names, topics_of
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.topic import Topic, storing
from magnetar.errors import AlreadyExists, InvalidValue, LimitReached, NotAllowed, TopicNotFound
from magnetar.model.names import TopicName
from magnetar.model.records import PartitionedTopicMetadata
from magnetar.model.system_topics import is_system_topic
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import DRY_RUN, FORCE, Query, Route, reads

METADATA: Final = "application/vnd.partitioned-topic-metadata+json"
_NOT_PARTITIONED: Final = PartitionedTopicMetadata(0)


@reads(Query("bundle"), SYSTEM_TOPICS)
async def names(admin: TopicServices, request: Request) -> Reply:
    """The topics of a namespace, each partition by itself."""
    policies = await existing(admin.resources, request)
    found = await topics_of(admin.owners, arguments.namespace(request), arguments.domain(request))
    bundle = request.query.get("bundle")
    if bundle is not None:
        found = [name for name in found if policies.bundles.bundle_of(name).range == bundle]
    return await shown_names(found, request)


@reads(SYSTEM_TOPICS)
async def partitioned_names(admin: TopicServices, request: Request) -> Reply:
    """The partitioned topics of a namespace."""
    await existing(admin.resources, request)
    namespace, domain = arguments.namespace(request), arguments.domain(request)
    names = await admin.resources.partitioned_topics(namespace, domain)
    return await shown_names(names, request)


async def create(admin: TopicServices, request: Request) -> Reply:
    """Create a topic without partitions; the body may have properties."""
    topic = arguments.topic(request)
    _check_own(topic)
    properties = arguments.string_map(arguments.body(request), "properties")
    if properties and not topic.persistent:
        raise NotAllowed(f"A non-persistent topic keeps no properties: create {topic} without them")
    await admin.resources.require_namespace(topic.namespace)
    await admin.creation.check_plain_name(topic)
    if await admin.resources.partitions(topic) or await admin.owners.access.exists(topic):
        raise AlreadyExists("This topic already exists")
    created = await admin.owners.access.create(topic)
    if properties:
        await storing(created).log.change_properties(properties)
    return done()


@reads(FORCE, DRY_RUN)
async def delete(admin: TopicServices, request: Request) -> Reply:
    """Delete a topic and its subscriptions; with clients only by force."""
    topic, force = arguments.topic(request), request.flag("force")
    if await admin.resources.partitions(topic) and not await admin.owners.access.exists(topic):
        raise Rejection(
            409,
            f"{topic} is a partitioned topic, instead of calling delete topic, please call "
            "delete-partitioned-topic.",
        )
    opened = await admin.owners.access.open_anywhere(topic)
    if opened.busy and not force:
        raise Rejection(412, f"Topic has {opened.busy} connected producers/consumers")
    if request.flag("dryRun"):
        return done()
    await admin.topics.delete(topic, force=force)
    return done()


async def unload(admin: TopicServices, _request: Request, topic: Topic) -> Reply:
    """Close a topic or its partitions: clients look them up again."""
    await admin.topics.unload(topic.name)
    return done()


@reads(Query("checkAllowAutoCreation", "boolean"))
async def partitions(admin: TopicServices, request: Request) -> Reply:
    """The number of partitions, 0 also for a topic that a client may create by using it."""
    topic, create = arguments.topic(request), request.flag("checkAllowAutoCreation")
    await admin.creation.partitions(topic, create=create)
    metadata = await admin.resources.partitioned_topic(topic)
    return shown((metadata or _NOT_PARTITIONED).shown())


async def create_partitions(admin: TopicServices, request: Request) -> Reply:
    """Create a partitioned topic: the number of partitions, perhaps with properties."""
    topic = arguments.topic(request)
    count, properties = _asked(request)
    _check_own(topic)
    try:
        await admin.fanout.create(topic, count, properties)
    except InvalidValue as error:
        raise Rejection(406, str(error)) from None
    except LimitReached as error:
        raise Rejection(412, str(error)) from None
    return done()


async def grow_partitions(admin: TopicServices, request: Request) -> Reply:
    """Give a partitioned topic more partitions: how many it shall have."""
    topic, count = arguments.topic(request), arguments.number(request)
    await admin.resources.require_namespace(topic.namespace)
    try:
        await admin.fanout.grow(topic, count)
    except InvalidValue as error:
        raise Rejection(422, str(error)) from None
    return done()


async def create_missed_partitions(admin: TopicServices, request: Request) -> Reply:
    """Create the partitions that nobody has used so far."""
    topic = arguments.topic(request)
    if not await admin.resources.partitions(topic):
        raise TopicNotFound(f"Topic {topic} does not exist")
    await admin.fanout.create_missed(topic)
    return done()


@reads(FORCE)
async def delete_partitions(admin: TopicServices, request: Request) -> Reply:
    """Delete a partitioned topic with all partitions; with clients only by force."""
    topic = arguments.topic(request)
    if not await admin.resources.partitions(topic):
        if await admin.owners.access.exists(topic):
            raise Rejection(
                409,
                f"{topic} is a non-partitioned topic. Instead of calling "
                "delete-partitioned-topic please call delete.",
            )
        raise TopicNotFound(f"Topic {topic} not found.")
    await admin.fanout.delete(topic, force=request.flag("force"))
    return done()


def _check_own(topic: TopicName) -> None:
    if is_system_topic(topic):
        raise Rejection(
            400, f"Cannot create topic in system topic format! Only brokers make {topic}"
        )


def _asked(request: Request) -> tuple[int, dict[str, str] | None]:
    """The number of partitions in a request, and the properties that may come with it."""
    if (request.content_type or "").partition(";")[0].strip().lower() != METADATA:
        return arguments.number(request), None
    sent = arguments.json_object(request) or {}
    count = arguments.whole(sent.get("partitions", 0), "partitions")
    properties = arguments.string_map(sent.get("properties"), "properties")
    return count, properties


_ALL = "/admin/v2/persistent/{tenant}/{namespace}"
_ONE = f"{_ALL}/{{topic}}"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", _ALL, names, Access.NAMESPACE_TOPICS),
    Route("GET", f"{_ALL}/partitioned", partitioned_names, Access.NAMESPACE_TOPICS),
    Route("PUT", _ONE, create, Access.TENANT_ADMIN, AtOwner(), takes=(JSON,)),
    Route("DELETE", _ONE, delete, Access.TENANT_ADMIN, AtOwner()),
    Route("PUT", f"{_ONE}/unload", unload, Access.TENANT_ADMIN, OfPartitions()),
    Route("GET", f"{_ONE}/partitions", partitions, Access.LOOKUP),
    Route(
        "PUT", f"{_ONE}/partitions", create_partitions, Access.TENANT_ADMIN, takes=(JSON, METADATA)
    ),
    Route("POST", f"{_ONE}/partitions", grow_partitions, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("POST", f"{_ONE}/createMissedPartitions", create_missed_partitions, Access.TENANT_ADMIN),
    Route("DELETE", f"{_ONE}/partitions", delete_partitions, Access.TENANT_ADMIN),
)
