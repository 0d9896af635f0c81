"""Non-persistent topics: what any topic answers, and what only a persistent one can."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.non_persistent_stats import internal_stats
from magnetar.broker.admin.owners import AtOwner, OfBundle, OfPartitions, OfTopic, all_of
from magnetar.broker.admin.routes import subscriptions, topic_stats, topics
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.topics.non_persistent_topic import NonPersistentTopic
from magnetar.model.bundles import Bundle
from magnetar.model.names import NON_PERSISTENT
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import DRY_RUN, FORCE, Handler, Route, reads


async def names_in_bundle(admin: AdminServices, _request: Request, bundle: Bundle) -> Reply:
    """The topics of one bundle that somebody uses."""
    found = await admin.resources.topics(bundle.namespace, NON_PERSISTENT)
    return shown([str(name) for name in found if bundle.holds(name)])


@reads(FORCE, DRY_RUN)
async def delete(admin: AdminServices, request: Request) -> Reply:
    """One that nobody uses is as good as deleted."""
    topic = arguments.topic(request)
    if await admin.resources.partitions(topic) or await admin.access.exists(topic):
        return await topics.delete(admin, request)
    return done()


async def get_internal(
    _admin: AdminServices, _request: Request, topic: NonPersistentTopic
) -> Reply:
    """The counters of a topic that has no log."""
    return shown(internal_stats(topic.entry_count, topic.subscriptions))


def _refused(status: int, reason: str) -> Handler:
    async def refuse(_admin: AdminServices, _request: Request) -> Reply:
        raise Rejection(status, reason)

    return refuse


def _not_allowed(what: str) -> Handler:
    return _refused(405, f"{what} on a non-persistent topic is not allowed")


_PERSISTENT_ONLY = _refused(406, "Need to provide a persistent topic name")
_BY_CLIENTS = _refused(
    400, "Create subscription on non-persistent topic can only be done through client"
)
_ALL = "/admin/v2/non-persistent/{tenant}/{namespace}"
_ONE = f"{_ALL}/{{topic}}"
_SUBSCRIPTION = f"{_ONE}/subscription/{{subscription}}"
ROUTES: Final = (
    Route("GET", _ALL, topics.names, access=Access.NAMESPACE_TOPICS),
    Route("GET", f"{_ALL}/partitioned", topics.partitioned_names, access=Access.NAMESPACE_TOPICS),
    Route(
        "GET",
        f"{_ALL}/{{bundle}}",
        names_in_bundle,
        access=Access.NAMESPACE_TOPICS,
        about=OfBundle(unserved=True),
    ),
    Route("PUT", _ONE, topics.create, takes=(JSON,), access=Access.TENANT_ADMIN, about=AtOwner()),
    Route("DELETE", _ONE, delete, access=Access.TENANT_ADMIN, about=AtOwner()),
    Route("PUT", f"{_ONE}/unload", topics.unload, access=Access.TENANT_ADMIN, about=OfPartitions()),
    Route("GET", f"{_ONE}/partitions", topics.partitions, access=Access.LOOKUP),
    Route(
        "PUT",
        f"{_ONE}/partitions",
        topics.create_partitions,
        takes=(JSON, topics.METADATA),
        access=Access.TENANT_ADMIN,
    ),
    Route(
        "POST",
        f"{_ONE}/partitions",
        topics.grow_partitions,
        takes=(JSON,),
        access=Access.TENANT_ADMIN,
    ),
    Route("DELETE", f"{_ONE}/partitions", topics.delete_partitions, access=Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/stats", topic_stats.get, access=Access.LOOKUP, about=OfTopic()),
    Route(
        "GET",
        f"{_ONE}/partitioned-stats",
        topic_stats.get_partitioned,
        access=Access.LOOKUP,
        about=topic_stats.BY_PARTITIONS,
    ),
    Route("GET", f"{_ONE}/internalStats", get_internal, access=Access.LOOKUP, about=OfTopic()),
    Route(
        "GET",
        f"{_ONE}/subscriptions",
        subscriptions.names,
        access=Access.CONSUME,
        about=OfPartitions(all_of),
    ),
    Route(
        "DELETE",
        _SUBSCRIPTION,
        subscriptions.delete,
        access=Access.CONSUME,
        about=OfPartitions(subscriptions.deleted),
    ),
    Route("PUT", _SUBSCRIPTION, _BY_CLIENTS, access=Access.CONSUME),
    Route(
        "POST", f"{_SUBSCRIPTION}/skip_all", _not_allowed("Skip messages"), access=Access.CONSUME
    ),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/skip/{{count}}",
        _not_allowed("Skip messages"),
        access=Access.CONSUME,
    ),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/expireMessages/{{seconds}}",
        _not_allowed("Expire messages"),
        access=Access.CONSUME,
    ),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/resetcursor/{{timestamp}}",
        _not_allowed("Reset-cursor"),
        access=Access.CONSUME,
    ),
    Route(
        "POST",
        f"{_SUBSCRIPTION}/resetcursor",
        _not_allowed("Reset-cursor at position"),
        access=Access.CONSUME,
    ),
    Route(
        "GET",
        f"{_SUBSCRIPTION}/position/{{position}}",
        _not_allowed("Peek messages"),
        access=Access.CONSUME,
    ),
    Route("GET", f"{_ONE}/lastMessageId", _not_allowed("GetLastMessageId"), access=Access.CONSUME),
    Route(
        "GET",
        f"{_ONE}/messageid/{{time}}",
        _not_allowed("Get message ID by timestamp"),
        access=Access.CONSUME,
    ),
    Route("GET", f"{_ONE}/internal-info", _not_allowed("Internal info"), access=Access.LOOKUP),
    Route("PUT", f"{_ONE}/compaction", _not_allowed("Compaction"), access=Access.TENANT_ADMIN),
    Route(
        "DELETE",
        f"{_ONE}/truncate",
        _refused(412, "unsupport truncate"),
        access=Access.TENANT_ADMIN,
    ),
    Route("POST", f"{_ONE}/terminate", _PERSISTENT_ONLY, access=Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/properties", _PERSISTENT_ONLY, access=Access.LOOKUP),
)
