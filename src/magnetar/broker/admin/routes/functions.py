"""Functions, connectors and packages: what the functions worker answers, or that it is off."""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlsplit

from magnetar.auth.access import Access
from magnetar.broker.admin.owners import ANSWER_HERE
from magnetar.broker.admin.services import FunctionServices
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request
from magnetar.rest.router import ANY, ANY_METHOD, Handler, Route

PACKAGE_BYTES_MAX: Final = 64 * 1024 * 1024
FORM_BYTES_MAX: Final = PACKAGE_BYTES_MAX + 64 * 1024
"""A form with a package, and with what it says of it."""


async def ask_worker(admin: FunctionServices, request: Request) -> Reply:
    if admin.functions is None:
        raise Rejection(
            409,
            "Pulsar Function Worker is not enabled, probably functionsWorkerEnabled is set to "
            "false",
        )
    reply = await admin.functions.answer(request)
    if reply.status == 307 and ANSWER_HERE in request.headers:
        where = urlsplit(reply.headers["Location"])
        there = await admin.owners.ask_at(f"{where.scheme}://{where.netloc}", request)
        return reply if there is None else there
    return reply


async def no_connectors(admin: FunctionServices, request: Request) -> Reply:
    if admin.functions is None:
        return await ask_worker(admin, request)
    raise Rejection(
        409, "Magnetar runs functions, and no connectors: use Spark's sources and sinks"
    )


async def no_packages(_admin: Any, _request: Request) -> Reply:
    raise Rejection(503, "Package Management Service is not enabled in the broker.")


def _whole(path: str, handler: Handler, access: Access) -> Iterator[Route]:
    """Everything below a path: that of a namespace for who has this access to it.

    The rest is about no namespace, and for superusers.
    """
    yield Route(ANY_METHOD, f"{path}/{{tenant}}/{{namespace}}", handler, access, gives=ANY)
    yield Route(ANY_METHOD, path.partition("/{")[0], handler, gives=ANY)


SERVICES: Final = FunctionServices
ROUTES: Final = (
    *_whole("/admin/v3/functions", ask_worker, Access.FUNCTIONS),
    *_whole("/admin/v2/functions", ask_worker, Access.FUNCTIONS),
    Route(ANY_METHOD, "/admin/v2/worker", ask_worker, gives=ANY),
    Route(ANY_METHOD, "/admin/v2/worker-stats", ask_worker, gives=ANY),
    *_whole("/admin/v3/sinks", no_connectors, Access.SINKS),
    *_whole("/admin/v3/sources", no_connectors, Access.SOURCES),
    *_whole("/admin/v3/packages/{type}", no_packages, Access.PACKAGES),
)
