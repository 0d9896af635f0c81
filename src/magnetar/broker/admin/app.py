"""The admin REST API and HTTP lookup: what they are given, and how they start.

The HTTP library takes longer to import than the rest of a broker, so nothing imports it before the
API is started.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from magnetar.broker.admin.fanout import Fanout
from magnetar.broker.admin.rates import RateBook, keep_rates
from magnetar.broker.admin.router import Route, Router
from magnetar.broker.admin.routes.brokers import Brokers, broker_id
from magnetar.broker.admin.routes.clusters import Clusters
from magnetar.broker.admin.routes.lookup import TopicLookup
from magnetar.broker.admin.routes.namespace_policies import PolicyRoutes
from magnetar.broker.admin.routes.namespaces import Namespaces
from magnetar.broker.admin.routes.subscriptions import Subscriptions
from magnetar.broker.admin.routes.tenants import Tenants
from magnetar.broker.admin.routes.topic_stats import TopicStatsRoutes
from magnetar.broker.admin.routes.topics import Topics
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.cluster.lookup import BrokerAddress, Lookup
from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.creation import Creation
from magnetar.broker.policies import PolicyService
from magnetar.broker.resources import Resources
from magnetar.broker.topics.registry import TopicRegistry
from magnetar.clock import Clock, SystemClock
from magnetar.errors import Conflict
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.broker.admin.server import AdminServer

BACKLOG = 128  # Connections the system holds until they are accepted.


@dataclass(frozen=True, slots=True)
class AdminServices:
    """The rooms of a broker that its administrators look into."""

    resources: Resources
    policies: PolicyService
    creation: Creation
    topics: TopicRegistry
    lookup: Lookup
    ownership: Ownership
    address: BrokerAddress
    cluster: str
    version: str
    rates: RateBook = field(default_factory=RateBook)
    clock: Clock = field(default_factory=SystemClock)


def bind(host: str, port: int) -> socket.socket:
    """Take the port, 0 for any that is free. Raises Conflict when somebody else has it."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setblocking(False)
        taken.bind(address)
        taken.listen(BACKLOG)
    except OSError as error:
        taken.close()
        raise Conflict(
            f"The admin API cannot listen on {host}:{port}: {error.strerror}. Choose another "
            "webServicePort, 0 for any free one, or stop what uses it"
        ) from error
    return taken


async def start_admin(
    services: AdminServices,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    bound: socket.socket | None = None,
) -> "AdminServer":
    """Serve until the answer is closed, on ``bound`` where a port was taken before.

    Raises Conflict when somebody else has the port.
    """
    listener = bound if bound is not None else bind(host, port)
    server: type[AdminServer] = import_module("magnetar.broker.admin.server").AdminServer
    tasks = Tasks("admin")
    tasks.spawn("rates", keep_rates(services.rates, services.topics, services.clock))
    return await server.start(Router(routes(services)), listener, tasks)


def routes(services: AdminServices) -> Iterator[Route]:
    """Every route there is; what is not here does not exist."""
    resources = services.resources
    access = TopicAccess(resources, services.topics, services.ownership)
    web_url, creation = services.address.web_url, services.creation
    fanout = Fanout(resources, access, creation)
    yield from Clusters(resources).routes()
    yield from Tenants(resources).routes()
    yield from Namespaces(resources, services.cluster).routes()
    yield from PolicyRoutes(resources, services.policies).routes()
    yield from Topics(resources, access, fanout, creation).routes()
    yield from TopicStatsRoutes(
        resources, access, services.rates, owner=broker_id(web_url)
    ).routes()
    yield from Subscriptions(resources, access, creation).routes()
    yield from TopicLookup(services.lookup, resources, creation).routes()
    yield from Brokers(resources, web_url=web_url, version=services.version).routes()
