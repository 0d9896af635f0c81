"""/metrics, by Pulsar's names, for Prometheus."""

from collections.abc import AsyncIterator
from typing import Final

from magnetar.broker.admin import metrics
from magnetar.broker.admin.exchange import Reply, Request
from magnetar.broker.admin.router import ANY, Route
from magnetar.broker.admin.services import AdminServices
from magnetar.broker.auth.access import Access


async def get(admin: AdminServices, request: Request) -> Reply:
    if not request.path.endswith("/"):
        return Reply(302, headers={"Location": f"{request.path}/"})
    now = admin.clock.now()
    kept = admin.scrapes.kept.get("openmetrics" in request.accept)
    if kept is None or now - kept.made_at >= admin.metrics.interval_s:
        pieces, content_type = await metrics.answer(admin, request.accept)
        if not admin.metrics.buffer:
            return Reply(200, content_type=content_type, stream=Pieces(pieces))
        kept = await admin.scrapes.keep(now, content_type, pieces)
    return Reply(200, kept.body, kept.content_type)


class Pieces:
    """A generator as the body of an answer."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def aclose(self) -> None:
        """The generator holds nothing that must be let go of."""


ROUTES: Final = (Route("GET", "/metrics", get, gives=ANY, access=Access.PUBLIC),)
