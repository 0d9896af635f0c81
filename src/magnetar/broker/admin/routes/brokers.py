"""Brokers: which there are, and whether this one is well."""

from typing import Final

from magnetar.broker.admin.errors import Rejection
from magnetar.broker.admin.exchange import Reply, Request, shown, text
from magnetar.broker.admin.router import ANY, Route, not_found
from magnetar.broker.resources import Resources

# Pulsar's routes that this broker does not have, and that are no clusters either.
_ABSENT: Final = ("backlog-quota-check", "configuration", "internal-configuration")


class Brokers:
    """``/brokers``, of a broker that is alone in its cluster."""

    def __init__(self, resources: Resources, *, web_url: str, version: str) -> None:
        self._resources = resources
        self._web_url = web_url
        self._broker_id = broker_id(web_url)
        self._version = version

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/admin/v2/brokers", self.names),
            Route("GET", "/admin/v2/brokers/{cluster}", self.names_in),
            Route("GET", "/admin/v2/brokers/leaderBroker", self.leader),
            Route("GET", "/admin/v2/brokers/health", self.health, gives=ANY),
            Route("GET", "/admin/v2/brokers/ready", self.ready, gives=ANY),
            Route("GET", "/admin/v2/brokers/version", self.version, gives=ANY),
        ]

    async def names(self, request: Request) -> Reply:
        return shown([self._broker_id])

    async def names_in(self, request: Request) -> Reply:
        """The same for any cluster, as Pulsar answers it."""
        if request.segments["cluster"] in _ABSENT:
            raise not_found(request)
        return await self.names(request)

    async def leader(self, request: Request) -> Reply:
        return shown({"serviceUrl": self._web_url, "brokerId": self._broker_id})

    async def health(self, request: Request) -> Reply:
        version = request.query.get("topicVersion", "V2")
        if version not in ("V1", "V2"):
            raise Rejection(404, f"topicVersion is V1 or V2, not {version}")
        await self._resources.clusters()  # A metadata store that does not answer is no health.
        return text("ok")

    async def ready(self, request: Request) -> Reply:
        return text("ok")

    async def version(self, request: Request) -> Reply:
        return text(self._version)


def broker_id(web_url: str) -> str:
    """How brokers call each other: ``host:port`` of their HTTP door."""
    return web_url.removeprefix("http://").removesuffix("/")
