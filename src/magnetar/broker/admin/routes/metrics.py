"""/metrics, by Pulsar's names, for Prometheus."""

from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import metrics
from magnetar.broker.admin.services import AdminServices
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, Route


async def get(admin: AdminServices, request: Request) -> Reply:
    if not request.path.endswith("/"):
        return Reply(302, headers={"Location": f"{request.path}/"})
    answer = admin.scrapes.ask(
        request.accept,
        partial(metrics.answer, admin, request.accept),
        now=admin.clock.now(),
        keep_s=admin.metrics.interval_s if admin.metrics.buffer else 0,
    )
    return Reply(200, content_type=await answer.begun(), stream=answer)


ROUTES: Final = (Route("GET", "/metrics", get, gives=ANY, access=Access.PUBLIC),)
