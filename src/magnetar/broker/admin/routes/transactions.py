"""Transactions: this broker coordinates none.

What is asked of something that is not there, a topic or a transaction, is answered with 404, and
what a topic without transactions would say is said. What takes a coordinator is answered with 503.
"""

from typing import Any, Final, NoReturn

from magnetar.auth.access import Access
from magnetar.broker.admin.services import AdminServices
from magnetar.errors import NotFound, SubscriptionNotFound, TopicNotFound
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import JSON, Reply, Request, shown
from magnetar.rest.router import Query, Route, reads

_OFF: Final = (
    "This Broker is not configured with transactionCoordinatorEnabled=true."
    " Magnetar has no transactions yet, and does not start with it."
)
"""It begins with the words of an Apache Pulsar whose coordinator is off."""


async def off(_admin: Any, _request: Request) -> Reply:
    raise Rejection(503, _OFF)


async def transaction(_admin: Any, request: Request) -> Reply:
    most, least = (arguments.integer(request, each) for each in ("most", "least"))
    raise NotFound(f"The transaction with this txdID `({most},{least})`not found: {_OFF}")


@reads(Query("coordinatorId", "integer"))
async def coordinators(_admin: Any, request: Request) -> Reply:
    coordinator = arguments.parameter(request, "coordinatorId")
    if coordinator is not None:
        _no_coordinator(coordinator)
    raise Rejection(503, _OFF)


async def coordinator(_admin: Any, request: Request) -> Reply:
    _no_coordinator(arguments.integer(request, "coordinator"))


def _no_coordinator(number: int) -> NoReturn:
    raise NotFound(f"Transaction coordinator not found! coordinator id : {number}: {_OFF}")


async def slow(_admin: Any, request: Request) -> Reply:
    arguments.integer(request, "timeout")
    return shown({})


async def of_topic(admin: AdminServices, request: Request) -> Reply:
    await _find(admin, request)
    raise Rejection(503, _OFF)


async def in_buffer(admin: AdminServices, request: Request) -> Reply:
    """Answer as for a transaction that nobody has heard of."""
    await _find(admin, request)
    return shown({"aborted": False})


async def in_pending_acks(admin: AdminServices, request: Request) -> Reply:
    await _find(admin, request)
    return shown({})


async def position(admin: AdminServices, request: Request) -> Reply:
    await _find(admin, request)
    return shown({"state": "NotInPendingAck"})


async def scale(_admin: Any, request: Request) -> Reply:
    if arguments.number(request) <= 0:
        raise Rejection(
            406,
            "Number of transaction coordinators should be more than the current number of "
            "transaction coordinator",
        )
    raise Rejection(503, _OFF)


async def _find(admin: AdminServices, request: Request) -> None:
    """The topic, and the subscription where there is one. Raises TopicNotFound and the like."""
    name = arguments.topic(request)
    if not await admin.access.exists(name):
        raise TopicNotFound(f"Topic not found {name}")
    if "subscription" in request.segments:
        asked = arguments.subscription(request)
        if asked not in (await admin.access.open(name)).subscriptions:
            raise SubscriptionNotFound(f"{name} not found subscription : {asked}")


_ALL = "/admin/v3/transactions"
_TOPIC = "{tenant}/{namespace}/{topic}"
_SUBSCRIPTION = f"{_TOPIC}/{{subscription}}"
_ID = "{most}/{least}"
ROUTES: Final = (
    *(
        Route("GET", f"{_ALL}/{path}", handler, access=Access.SUPERUSER)
        for path, handler in (
            ("coordinators", off),
            ("coordinatorStats", coordinators),
            ("coordinatorInternalStats/{coordinator}", coordinator),
            (f"transactionMetadata/{_ID}", transaction),
            ("slowTransactions/{timeout}", slow),
        )
    ),
    *(
        Route("GET", f"{_ALL}/{path}", handler, access=Access.TENANT_ADMIN)
        for path, handler in (
            (f"transactionBufferStats/{_TOPIC}", of_topic),
            (f"transactionBufferInternalStats/{_TOPIC}", of_topic),
            (f"pendingAckStats/{_SUBSCRIPTION}", of_topic),
            (f"pendingAckInternalStats/{_SUBSCRIPTION}", of_topic),
            (f"transactionInBufferStats/{_TOPIC}/{_ID}", in_buffer),
            (f"transactionInPendingAckStats/{_SUBSCRIPTION}/{_ID}", in_pending_acks),
            (f"positionStatsInPendingAck/{_SUBSCRIPTION}/{{ledger}}/{{entry}}", position),
        )
    ),
    Route("POST", f"{_ALL}/abortTransaction/{_ID}", off, access=Access.SUPERUSER),
    Route(
        "POST",
        f"{_ALL}/transactionCoordinator/replicas",
        scale,
        takes=(JSON,),
        access=Access.SUPERUSER,
    ),
)
