"""Transactions: this broker coordinates none."""

from typing import Any, Final

from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import Reply, Request
from magnetar.broker.admin.router import ANY, ANY_METHOD, Route
from magnetar.broker.auth.access import Access


async def none(_admin: Any, _request: Request) -> Reply:
    raise Rejection(503, "This Broker is not configured with transactionCoordinatorEnabled=true.")


ROUTES: Final = (
    Route(ANY_METHOD, "/admin/v3/transactions", none, gives=ANY, access=Access.AUTHENTICATED),
)
