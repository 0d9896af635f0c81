"""Which broker serves a topic, for clients that ask over HTTP."""

from urllib.parse import unquote_plus

from magnetar.broker.admin import arguments
from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import Reply, Request, shown, text
from magnetar.broker.admin.router import ANY, Route
from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.creation import Creation
from magnetar.broker.resources import Resources
from magnetar.errors import TopicNotFound
from magnetar.model.names import NON_PERSISTENT, PERSISTENT, TopicName


class TopicLookup:
    """``/lookup/v2/topic``."""

    def __init__(
        self,
        lookup: Lookup,
        resources: Resources,
        creation: Creation,
    ) -> None:
        self._lookup = lookup
        self._resources = resources
        self._creation = creation

    def routes(self) -> list[Route]:
        one = "/lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}"
        return [
            Route("GET", one, self.find),
            Route("GET", f"{one}/bundle", self.bundle, gives=ANY),
        ]

    async def find(self, request: Request) -> Reply:
        """The URLs of the broker. Clients differ in how they spell the keys for TLS."""
        topic = _topic(request)
        address = await self._lookup.find(topic)
        if topic.persistent and not await self._creation.usable(topic):
            raise TopicNotFound(f"Topic not found {topic}")
        return shown(
            {
                "brokerUrl": address.service_url,
                "httpUrl": address.web_url,
                "nativeUrl": address.service_url,
                "brokerUrlSsl": "",
                "brokerUrlTls": "",
                "httpUrlTls": "",
            }
        )

    async def bundle(self, request: Request) -> Reply:
        return text(await self._resources.bundle(_topic(request)))


def _topic(request: Request) -> TopicName:
    domain = unquote_plus(request.segments["domain"])
    if domain not in (PERSISTENT, NON_PERSISTENT):
        raise Rejection(
            404, f"{domain} is no domain of topics: they are {PERSISTENT} or {NON_PERSISTENT}"
        )
    return arguments.topic(request, domain)
