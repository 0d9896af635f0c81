"""/metrics, by Pulsar's names, for Prometheus."""

from functools import partial
from typing import Final

from magnetar.auth.access import Access
from magnetar.broker.admin import metrics
from magnetar.broker.admin.scrapes import Make
from magnetar.broker.admin.services import MetricServices
from magnetar.broker.peers import PASSED_ON
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, Route


async def get(admin: MetricServices, request: Request) -> Reply:
    if not request.path.endswith("/"):
        return Reply(302, headers={"Location": f"{request.path}/"})
    make: Make = partial(metrics.answer, admin, request.accept)
    alone = PASSED_ON in request.headers
    if admin.siblings is not None and alone:
        make = partial(admin.siblings.of_this, make)
    elif admin.siblings is not None:
        make = partial(admin.siblings.of_all, make, request.accept)
    answer = admin.scrapes.ask(
        request.accept,
        make,
        alone=alone,
        now=admin.broker.clock.now(),
        keep_s=admin.broker.metrics.interval_s if admin.broker.metrics.buffer else 0,
    )
    return Reply(200, content_type=await answer.begun(), stream=answer)


SERVICES: Final = MetricServices
ROUTES: Final = (Route("GET", "/metrics", get, Access.PUBLIC, gives=ANY),)
