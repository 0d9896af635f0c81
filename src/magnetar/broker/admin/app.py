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
from magnetar.tasks import Tasks

if TYPE_CHECKING:
    from magnetar.broker.admin.server import AdminServer


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


async def start_admin(services: AdminServices, listener: socket.socket) -> "AdminServer":
    """Serve on ``listener`` until the answer is closed."""
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
