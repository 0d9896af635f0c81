"""HTTP lookup: which broker serves a topic."""

from typing import Final
from urllib.parse import unquote_plus

from magnetar.auth.access import Access
from magnetar.broker.admin.services import TopicServices
from magnetar.errors import TopicNotFound
from magnetar.model.names import NON_PERSISTENT, PERSISTENT, TopicName
from magnetar.rest import arguments
from magnetar.rest.errors import Rejection
from magnetar.rest.exchange import Reply, Request, shown, text
from magnetar.rest.router import ANY, Route


async def find(admin: TopicServices, request: Request) -> Reply:
    """The URLs of the broker. Clients spell the keys for TLS in different ways."""
    topic = _topic(request)
    address = (await admin.lookup.find(topic)).address
    if topic.persistent and not await admin.creation.usable(topic):
        raise TopicNotFound(f"Topic not found {topic}")
    return shown(
        {
            "brokerUrl": address.service_url,
            "httpUrl": address.web_url,
            "nativeUrl": address.service_url,
            "brokerUrlSsl": address.service_url_tls,
            "brokerUrlTls": address.service_url_tls,
            "httpUrlTls": address.web_url_tls,
        }
    )


async def bundle(admin: TopicServices, request: Request) -> Reply:
    """The bundle that a topic is in, which need not exist."""
    return text((await admin.resources.bundle(_topic(request))).range)


def _topic(request: Request) -> TopicName:
    domain = unquote_plus(request.segments["domain"])
    if domain not in (PERSISTENT, NON_PERSISTENT):
        raise Rejection(
            404, f"{domain} is no domain of topics: they are {PERSISTENT} or {NON_PERSISTENT}"
        )
    return arguments.topic(request, domain)


_ONE = "/lookup/v2/topic/{domain}/{tenant}/{namespace}/{topic}"
SERVICES: Final = TopicServices
ROUTES: Final = (
    Route("GET", _ONE, find, Access.LOOKUP),
    Route("GET", f"{_ONE}/bundle", bundle, Access.NAMESPACE_TOPICS, gives=ANY),
)
