"""Functions, connectors and packages: what the functions worker answers, or that it is off."""

from typing import Any, Final

from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import Reply, Request
from magnetar.broker.admin.router import ANY, ANY_METHOD, Route
from magnetar.broker.admin.services import AdminServices

PACKAGE_BYTES_MAX: Final = 64 * 1024 * 1024
FORM_BYTES_MAX: Final = PACKAGE_BYTES_MAX + 64 * 1024
"""A form with a package, and with what it says of it."""


async def ask_worker(admin: AdminServices, request: Request) -> Reply:
    if admin.functions is None:
        raise Rejection(
            409,
            "Pulsar Function Worker is not enabled, probably functionsWorkerEnabled is set to "
            "false",
        )
    return await admin.functions.answer(request)


async def no_connectors(admin: AdminServices, request: Request) -> Reply:
    if admin.functions is None:
        return await ask_worker(admin, request)
    raise Rejection(
        409, "Magnetar runs functions, and no connectors: use Spark's sources and sinks"
    )


async def no_packages(_admin: Any, _request: Request) -> Reply:
    raise Rejection(503, "Package Management Service is not enabled in the broker.")


ROUTES: Final = (
    Route(ANY_METHOD, "/admin/v3/functions", ask_worker, gives=ANY),
    Route(ANY_METHOD, "/admin/v2/functions", ask_worker, gives=ANY),
    Route(ANY_METHOD, "/admin/v2/worker", ask_worker, gives=ANY),
    Route(ANY_METHOD, "/admin/v2/worker-stats", ask_worker, gives=ANY),
    Route(ANY_METHOD, "/admin/v3/sinks", no_connectors, gives=ANY),
    Route(ANY_METHOD, "/admin/v3/sources", no_connectors, gives=ANY),
    Route(ANY_METHOD, "/admin/v3/packages", no_packages, gives=ANY),
)
