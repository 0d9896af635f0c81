"""Transactions: this broker coordinates none, and says so to whoever asks about them."""

from typing import Any, Final

from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import JSON, Reply, Request
from magnetar.broker.admin.router import Route
from magnetar.broker.auth.access import Access

OFF: Final = (
    "This Broker is not configured with transactionCoordinatorEnabled=true."
    " Magnetar has no transactions yet, and does not start with it."
)
"""It begins with the words of an Apache Pulsar whose coordinator is off."""


async def off(_admin: Any, _request: Request) -> Reply:
    """Refuse, whatever is asked, before anything of it is read."""
    raise Rejection(503, OFF)


_ALL: Final = "/admin/v3/transactions"
_TOPIC: Final = "{tenant}/{namespace}/{topic}"
_SUBSCRIPTION: Final = f"{_TOPIC}/{{subscription}}"
_ID: Final = "{most}/{least}"
_OF_SUPERUSERS: Final = (
    ("GET", "coordinators"),
    ("GET", "coordinatorStats"),
    ("GET", "coordinatorInternalStats/{coordinator}"),
    ("GET", f"transactionMetadata/{_ID}"),
    ("GET", "slowTransactions/{timeout}"),
    ("POST", f"abortTransaction/{_ID}"),
)
_OF_TENANT_ADMINS: Final = (
    ("GET", f"transactionBufferStats/{_TOPIC}"),
    ("GET", f"transactionBufferInternalStats/{_TOPIC}"),
    ("GET", f"pendingAckStats/{_SUBSCRIPTION}"),
    ("GET", f"pendingAckInternalStats/{_SUBSCRIPTION}"),
    ("GET", f"transactionInBufferStats/{_TOPIC}/{_ID}"),
    ("GET", f"transactionInPendingAckStats/{_SUBSCRIPTION}/{_ID}"),
    ("GET", f"positionStatsInPendingAck/{_SUBSCRIPTION}/{{ledger}}/{{entry}}"),
)
ROUTES: Final = (
    *(
        Route(method, f"{_ALL}/{path}", off, access=access)
        for access, paths in (
            (Access.SUPERUSER, _OF_SUPERUSERS),
            (Access.TENANT_ADMIN, _OF_TENANT_ADMINS),
        )
        for method, path in paths
    ),
    Route(
        "POST",
        f"{_ALL}/transactionCoordinator/replicas",
        off,
        takes=(JSON,),
        access=Access.SUPERUSER,
    ),
)
