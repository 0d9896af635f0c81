"""The end of topics, and of what is in them: terminate, truncate, trim."""

from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin.routes.single_messages import message_id
from magnetar.broker.admin.routes.subscriptions import refuse_partitioned, topics_of
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.topics.topic import storing
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, done, shown
from magnetar.rest.router import Route


async def terminate(admin: AdminServices, request: Request) -> Reply:
    """End a topic for ever: nothing is published any more. The answer is its last message's id."""
    await refuse_partitioned(admin, request, "Termination of a partitioned topic is not allowed")
    topic = await admin.access.open_stored(arguments.topic(request))
    return shown(message_id(await topic.terminate(), topic.name.partition_index))


async def terminate_partitions(admin: AdminServices, request: Request) -> Reply:
    """The same for all partitions of a topic; the last message of each, by its index."""
    name = arguments.topic(request)
    if not await admin.resources.partitions(name):
        await admin.access.open(name)
        raise Rejection(
            405,
            "Termination of a non-partitioned topic is not allowed using partitioned-terminate, "
            "please use terminate commands",
        )
    last = {}
    for topic in await topics_of(admin, name):
        index = topic.name.partition_index
        last[str(index)] = message_id(await storing(topic).terminate(), -1)
    return shown(last)


async def truncate(admin: AdminServices, request: Request) -> Reply:
    """Acknowledge everything for everybody, and delete the ledgers that are not in use."""
    for topic in await topics_of(admin, arguments.topic(request)):
        stored = storing(topic)
        for subscription in list(stored.subscriptions.values()):
            await stored.skip(subscription)
        await stored.log.trim(retained=True)
    return done()


async def trim(admin: AdminServices, request: Request) -> Reply:
    """Delete the ledgers that no subscription needs and retention does not keep, now."""
    for topic in await topics_of(admin, arguments.topic(request)):
        await storing(topic).log.trim()
    return Reply(200)


_ONE: Final = "/admin/v2/persistent/{tenant}/{namespace}/{topic}"
ROUTES: Final = (
    Route("POST", f"{_ONE}/terminate", terminate, access=Access.TENANT_ADMIN),
    Route("POST", f"{_ONE}/terminate/partitions", terminate_partitions, access=Access.TENANT_ADMIN),
    Route("DELETE", f"{_ONE}/truncate", truncate, access=Access.TENANT_ADMIN),
    Route("POST", f"{_ONE}/trim", trim, access=Access.TENANT_ADMIN),
)
