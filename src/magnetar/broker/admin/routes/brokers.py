"""Brokers: their list, and the health of this one."""

from typing import Final

from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import Reply, Request, done, shown, text
from magnetar.broker.admin.router import ANY, Query, Route, not_found, reads
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.auth.access import Access

# Routes of Pulsar that this broker does not have, and that must not pass for clusters.
_ABSENT: Final = ("configuration", "internal-configuration")


async def names(admin: AdminServices, _: Request) -> Reply:
    return shown([admin.broker_id])


async def names_in(admin: AdminServices, request: Request) -> Reply:
    """Answer the same for any cluster, as Pulsar does."""
    if request.segments["cluster"] in _ABSENT:
        raise not_found(request)
    return await names(admin, request)


async def leader(admin: AdminServices, _: Request) -> Reply:
    return shown({"serviceUrl": admin.address.web_url, "brokerId": admin.broker_id})


@reads(Query("topicVersion"))
async def health(admin: AdminServices, request: Request) -> Reply:
    version = request.query.get("topicVersion", "V2")
    if version not in ("V1", "V2"):
        raise Rejection(404, f"topicVersion is V1 or V2, not {version}")
    await admin.resources.clusters()  # It raises when the metadata store does not answer.
    return text("ok")


async def ready(_admin: AdminServices, _request: Request) -> Reply:
    return text("ok")


async def version(admin: AdminServices, _: Request) -> Reply:
    return text(admin.version)


async def check_backlogs(admin: AdminServices, _: Request) -> Reply:
    """Compare the backlogs of all open topics with their quotas now."""
    for topic in list(admin.topics.loaded.values()):
        if topic.stored is not None:
            await topic.stored.upkeep.check_backlog()
    return done()


ROUTES: Final = (
    Route("GET", "/admin/v2/brokers", names),
    Route("GET", "/admin/v2/brokers/{cluster}", names_in),
    Route("GET", "/admin/v2/brokers/leaderBroker", leader),
    Route("GET", "/admin/v2/brokers/backlog-quota-check", check_backlogs),
    Route("GET", "/admin/v2/brokers/health", health, gives=ANY),
    Route("GET", "/admin/v2/brokers/ready", ready, gives=ANY, access=Access.AUTHENTICATED),
    Route("GET", "/admin/v2/brokers/version", version, gives=ANY, access=Access.AUTHENTICATED),
)
