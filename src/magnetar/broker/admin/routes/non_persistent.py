"""Non-persistent topics: what any topic answers, and what only a persistent one can."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.non_persistent_stats import internal_stats
from magnetar.broker.admin.owners import AtOwner, OfBundle, OfPartitions, OfTopic, all_of
from magnetar.broker.admin.routes import subscriptions, topic_stats, topics
from magnetar.broker.admin.services import TopicServices
from magnetar.broker.topics.non_persistent_topic import NonPersistentTopic
from magnetar.model.bundles import Bundle
from magnetar.model.names import NON_PERSISTENT
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, done, shown
from magnetar.rest.router import DRY_RUN, FORCE, Handler, Route, reads


async def names_in_bundle(admin: TopicServices, _request: Request, bundle: Bundle) -> Reply:
    """The topics of one bundle that somebody uses."""
    found = await admin.resources.topics(bundle.namespace, NON_PERSISTENT)
    return shown([str(name) for name in found if bundle.holds(name)])


@reads(FORCE, DRY_RUN)
async def delete(admin: TopicServices, request: Request) -> Reply:
    """One that nobody uses is as good as deleted."""
    topic = arguments.topic(request)
    if await admin.resources.partitions(topic) or await admin.owners.access.exists(topic):
        return await topics.delete(admin, request)
    return done()


async def get_internal(
    _admin: TopicServices, _request: Request, topic: NonPersistentTopic
) -> Reply:
    """The counters of a topic that has no log."""
    return shown(internal_stats(topic.entry_count, topic.subscriptions))


def _refused(status: int, reason: str) -> Handler:
    async def refuse(_admin: TopicServices, _request: Request) -> Reply:
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
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", _ALL, topics.names, Access.NAMESPACE_TOPICS),
    Route("GET", f"{_ALL}/partitioned", topics.partitioned_names, Access.NAMESPACE_TOPICS),
    Route(
        "GET",
        f"{_ALL}/{{bundle}}",
        names_in_bundle,
        Access.NAMESPACE_TOPICS,
        OfBundle(unserved=True),
    ),
    Route("PUT", _ONE, topics.create, Access.TENANT_ADMIN, AtOwner(), takes=(JSON,)),
    Route("DELETE", _ONE, delete, Access.TENANT_ADMIN, AtOwner()),
    Route("PUT", f"{_ONE}/unload", topics.unload, Access.TENANT_ADMIN, OfPartitions()),
    Route("GET", f"{_ONE}/partitions", topics.partitions, Access.LOOKUP),
    Route(
        "PUT",
        f"{_ONE}/partitions",
        topics.create_partitions,
        Access.TENANT_ADMIN,
        takes=(JSON, topics.METADATA),
    ),
    Route("POST", f"{_ONE}/partitions", topics.grow_partitions, Access.TENANT_ADMIN, takes=(JSON,)),
    Route("DELETE", f"{_ONE}/partitions", topics.delete_partitions, Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/stats", topic_stats.get, Access.LOOKUP, OfTopic()),
    Route(
        "GET",
        f"{_ONE}/partitioned-stats",
        topic_stats.get_partitioned,
        Access.LOOKUP,
        topic_stats.BY_PARTITIONS,
    ),
    Route("GET", f"{_ONE}/internalStats", get_internal, Access.LOOKUP, OfTopic()),
    Route(
        "GET", f"{_ONE}/subscriptions", subscriptions.names, Access.CONSUME, OfPartitions(all_of)
    ),
    Route(
        "DELETE",
        _SUBSCRIPTION,
        subscriptions.delete,
        Access.CONSUME,
        OfPartitions(subscriptions.deleted),
    ),
    Route("PUT", _SUBSCRIPTION, _BY_CLIENTS, Access.CONSUME),
    *(
        Route(method, f"{_ONE}/{path}", _not_allowed(what), Access.CONSUME)
        for method, path, what in (
            ("POST", "subscription/{subscription}/skip_all", "Skip messages"),
            ("POST", "subscription/{subscription}/skip/{count}", "Skip messages"),
            ("POST", "subscription/{subscription}/expireMessages/{seconds}", "Expire messages"),
            ("POST", "subscription/{subscription}/resetcursor/{timestamp}", "Reset-cursor"),
            ("POST", "subscription/{subscription}/resetcursor", "Reset-cursor at position"),
            ("GET", "subscription/{subscription}/position/{position}", "Peek messages"),
            ("GET", "lastMessageId", "GetLastMessageId"),
            ("GET", "messageid/{time}", "Get message ID by timestamp"),
        )
    ),
    Route("GET", f"{_ONE}/internal-info", _not_allowed("Internal info"), Access.LOOKUP),
    Route("PUT", f"{_ONE}/compaction", _not_allowed("Compaction"), Access.TENANT_ADMIN),
    Route("DELETE", f"{_ONE}/truncate", _refused(412, "unsupport truncate"), Access.TENANT_ADMIN),
    Route("POST", f"{_ONE}/terminate", _PERSISTENT_ONLY, Access.TENANT_ADMIN),
    Route("GET", f"{_ONE}/properties", _PERSISTENT_ONLY, Access.LOOKUP),
)
