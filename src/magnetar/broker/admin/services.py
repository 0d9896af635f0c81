"""The parts of a broker that the routes of the admin API use."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from magnetar.auth.access import Access
from magnetar.auth.audit import AuditLog
from magnetar.broker.admin.broker_health import BrokerHealth
from magnetar.broker.admin.events import Events
from magnetar.broker.admin.fanout import Fanout
from magnetar.broker.admin.health_check import HealthCheck
from magnetar.broker.admin.messages.work import MessageWork
from magnetar.broker.admin.overview import Overview
from magnetar.broker.admin.owners import Owners
from magnetar.broker.admin.rates import RateBook
from magnetar.broker.admin.route_authorization import RouteAuthorization
from magnetar.broker.admin.scrapes import Scrapes
from magnetar.broker.admin.topic_access import TopicAccess
from magnetar.broker.authorization.permissions import Permissions
from magnetar.broker.cluster.brokers import Brokers
from magnetar.broker.cluster.lookup import Lookup
from magnetar.broker.cluster.ownership import Ownership
from magnetar.broker.cluster.topic_registry import TopicRegistry
from magnetar.broker.creation import Creation
from magnetar.broker.dynamic_configuration import DynamicConfiguration
from magnetar.broker.peers import Peers
from magnetar.broker.policies import PolicyService
from magnetar.broker.resource_groups import ResourceGroups
from magnetar.broker.resources import Resources
from magnetar.broker.schema.registry import SchemaRegistry
from magnetar.broker.schema.topic_schemas import TopicSchemas
from magnetar.broker.settings.metrics import MetricSettings
from magnetar.broker.transactions.coordinators import Coordinators
from magnetar.clock import Clock
from magnetar.model.broker_address import BrokerAddress
from magnetar.rest.exchange import Request

if TYPE_CHECKING:  # It imports an HTTP client.
    from magnetar.broker.admin.functions_worker import FunctionsWorkerProcess


@dataclass(slots=True)
class AdminServices:
    """Every handler of a route gets these."""

    resources: Resources
    policies: PolicyService
    resource_groups: ResourceGroups
    creation: Creation
    topics: TopicRegistry
    schema_registry: SchemaRegistry
    schemas: TopicSchemas
    lookup: Lookup
    ownership: Ownership
    address: BrokerAddress
    cluster: str
    message_size_max: int
    version: str
    clock: Clock
    health: BrokerHealth
    configuration: DynamicConfiguration
    brokers: Brokers
    peers: Peers
    data_directory: Path | None = None  # None: nothing outlives the process.
    metrics: MetricSettings = field(default_factory=MetricSettings)
    functions: "FunctionsWorkerProcess | None" = None  # None: functions are off.
    coordinators: Coordinators | None = None  # None: transactions are off.
    authorization: RouteAuthorization | None = None  # None: everybody may do everything.
    audit: AuditLog | None = None
    rates: RateBook = field(default_factory=RateBook)
    scrapes: Scrapes = field(default_factory=Scrapes)
    messages: MessageWork = field(default_factory=MessageWork)
    permissions: Permissions = field(init=False)
    access: TopicAccess = field(init=False)
    owners: Owners = field(init=False)
    fanout: Fanout = field(init=False)
    health_check: HealthCheck = field(init=False)
    overview: Overview = field(init=False)
    events: Events = field(init=False)

    def __post_init__(self) -> None:
        self.permissions = Permissions(self.resources)
        self.owners = Owners(
            self.resources,
            self.topics,
            self.creation,
            brokers=self.brokers,
            peers=self.peers,
            clock=self.clock,
        )
        self.access = self.owners.access
        self.fanout = Fanout(
            self.owners,
            self.schema_registry,
            policies=self.policies,
            permissions=self.permissions,
        )
        self.health_check = HealthCheck(self.resources, self.health.check_log)
        self.overview = Overview(self.topics, self.resources, self.health, self.clock)
        self.events = Events(self.overview, self.clock, self.named)

    @property
    def named(self) -> dict[str, str]:
        """Which broker this is."""
        return {
            "version": self.version,
            "cluster": self.cluster,
            "broker": self.broker_id,
            "serviceUrl": self.address.service_url or self.address.service_url_tls,
        }

    async def require(self, request: Request, access: Access, *, tenant: str) -> None:
        """Raise Rejection where the role of a request has not this access to a tenant."""
        if self.authorization is not None:
            await self.authorization.require(request, access, tenant=tenant)

    @property
    def broker_id(self) -> str:
        """The name of this broker among brokers: ``host:port`` of its admin API."""
        return self.address.name
